// A Forge script is the body of an async function: `await` and `return` stand at its top level.
// Its clock stands still within a turn; there are no timers, no modules, no network, no files, no Intl.

/** What a tool rejects with. */
declare class ToolError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly details?: unknown;
}
interface CallOptions {
  /** Why, in the agent's words, for the person who approves; at most 500 characters. */
  purpose?: string;
}
interface CatalogEntry {
  name: string;
  summary: string;
  effect: "read" | "write" | "process" | "external" | "internal";
  input_schema: Record<string, unknown>;
}

/** The request's `input`. */
declare const input: any;
/** Waits; the script may be parked and resumed elsewhere meanwhile. */
declare function sleep(ms: number): Promise<{ ms: number }>;
/** Appends to the execution's output. */
declare function text(value: unknown): void;
declare function progress(message: string, counts?: { completed?: number; total?: number }): void;
/** The capabilities the caller may use; `describe` rejects for an unknown name. */
declare const catalog: {
  search(query?: string, options?: { limit?: number }): Promise<CatalogEntry[]>;
  describe(name: string): Promise<CatalogEntry>;
};
/** Kept for the session's next executions if this one succeeds. */
declare const state: {
  get(key: string): any;
  set(key: string, value: unknown): void;
  delete(key: string): boolean;
};
declare const console: Record<"log" | "info" | "warn" | "error" | "debug", (...values: unknown[]) => void>;
/** As everywhere; random, clock and UUIDs are deterministic. */
declare const performance: { now(): number };
declare const crypto: { randomUUID(): string; getRandomValues<T extends { length: number }>(into: T): T };
declare function structuredClone<T>(value: T): T;
declare function queueMicrotask(job: () => void): void;
declare function btoa(text: string): string;
declare function atob(text: string): string;
declare class TextEncoder {
  encode(text?: string): Uint8Array;
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean });
  decode(bytes?: Uint8Array | ArrayBuffer): string;
}
declare class URLSearchParams {
  constructor(from?: string | Iterable<[string, string]> | Record<string, string>);
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  append(name: string, value: string): void;
  set(name: string, value: string): void;
  delete(name: string, value?: string): void;
  sort(): void;
  forEach(visit: (value: string, name: string) => void): void;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  entries(): IterableIterator<[string, string]>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  readonly size: number;
}
declare class URL {
  constructor(text: string | URL, base?: string | URL);
  static canParse(text: string, base?: string): boolean;
  readonly protocol: string;
  readonly username: string;
  readonly password: string;
  readonly host: string;
  readonly hostname: string;
  readonly port: string;
  readonly origin: string;
  readonly href: string;
  pathname: string;
  search: string;
  hash: string;
  readonly searchParams: URLSearchParams;
  toJSON(): string;
}
