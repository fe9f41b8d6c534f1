// What the demo's agent sends. It lists, searches and reads a project, proposes one change, asks for it to be applied
// (a person decides: until then no process waits), and reads back what became of it.
progress("looking at the project", { completed: 0, total: 4 });
const listed = await Promise.all(input.directories.map((path) => tools.call("file.list", { path })));
const files = listed.flatMap((one) => one.entries).filter((entry) => entry.path.endsWith(".py"));
const found = await tools.call("file.searchText", { query: '^    help = "', regex: true, paths: input.directories });
text(`${files.length} files, ${found.matches.length} of them are commands`);

progress("writing the change", { completed: 1, total: 4 });
const before = await tools.call("file.read", { path: input.file });
const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1, -".py".length);
const saysOf = (line) => line.slice(line.indexOf('"') + 1, line.lastIndexOf('"'));
const commands = found.matches.map((match) => `- \`manage.py ${nameOf(match.path)}\`: ${saysOf(match.text)}`).sort();
const added = ["", "## Every command, as its source says", "", ...commands];
const lines = before.content.split("\n").slice(0, -1); // the file ends with a newline
const context = lines.slice(-3);
const at = lines.length - context.length + 1;
const diff = [
  `--- a/${input.file}`,
  `+++ b/${input.file}`,
  `@@ -${at},${context.length} +${at},${context.length + added.length} @@`,
  ...context.map((line) => ` ${line}`),
  ...added.map((line) => `+${line}`),
  "",
].join("\n");
const proposal = await tools.call("artifact.patch-proposal.materialize", { diff });

progress("asking a person", { completed: 2, total: 4 });
await tools.call("patch.apply", { artifact_ref: proposal.artifact_ref }, { purpose: "List every command in the README" });

progress("reading it back", { completed: 3, total: 4 });
const after = await tools.call("file.read", { path: input.file });
if (after.content !== before.content + added.join("\n") + "\n") throw new Error("the file is not as proposed");
progress("done", { completed: 4, total: 4 });
return { file: input.file, commands: commands.length, before: before.sha256, after: after.sha256 };
