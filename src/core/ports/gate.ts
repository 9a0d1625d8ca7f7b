import type { JsonObject } from "../tools/json.ts";
import type { ToolCall, ToolDecision } from "./control.ts";

/**
 * A product that asks a program about each tool call, and waits for its answer: a hook or a plugin. retinue provides
 * the program, which asks the process that runs the product. If that process does not answer, the call runs.
 */
export interface Gate {
  /** The same command, made to ask; null if it cannot in this environment. */
  open(
    command: readonly string[],
    env: Readonly<Record<string, string | undefined>>,
    at: GateAddress,
  ): GatedCommand | null;
  /** The call in a question; null if it is no question about a call. */
  callIn(question: unknown): Omit<ToolCall, "uri"> | null;
  /** The answer as the product reads it. */
  answer(decision: ToolDecision): JsonObject;
}

interface GateAddress {
  /** Questions are sent here, as JSON, with the token as bearer. */
  readonly url: string;
  readonly token: string;
  /** A command that sends its stdin as a question, and prints the answer. */
  readonly client: string;
  /** In seconds: longer than any answer takes. */
  readonly timeout: number;
  /** Where to write a file with this name. Only this user can read it, and it is removed when the run ends. */
  fileAt(name: string): string;
  /** In hexadecimal. */
  sha256(text: string): string;
}

interface GatedCommand {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly { readonly path: string; readonly text: string }[];
}
