// What V8 answers to each snippet of standard input, {name: value}; names of those it can't run are left out.
import { readFileSync } from "node:fs";
class ToolError extends Error {
  constructor(error) { super(error.message); Object.assign(this, { name: "ToolError" }, error); }
}
const refused = { code: "TOOL_FAILED", message: "it failed", retryable: true, details: { why: "test" } };
const tools = {
  call: async (name, input) => { if (name === "fail") throw new ToolError(refused); return input ?? null; },
};
const quiet = Object.fromEntries(["log", "info", "warn", "error", "debug", "table"].map((level) => [level, () => {}]));
const answers = {};
for (const { name, body } of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    const made = new Function("tools", "ToolError", "text", "console", `return async function () {\n${body}\n}`);
    answers[name] = JSON.parse(JSON.stringify((await made(tools, ToolError, () => {}, quiet)()) ?? null));
  } catch { /* an engine older than the snippet, or a snippet that is no JavaScript */ }
}
process.stdout.write(JSON.stringify(answers));
