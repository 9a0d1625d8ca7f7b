import type { Readable } from "node:stream";
import type { Control } from "../../core/ports/control.ts";
import { MAX_RECORD } from "../../core/tools/limits.ts";
import { type Launch, type Running, type StartOptions, start } from "./run.ts";

export interface Controlled {
  readonly launch: Launch;
  readonly control: Control;
}

/**
 * A command of a user whose stdin retinue controls, while its output stays what it would be. Null if the product does
 * not support it for this command, or if the caller of the command controls it. `asksPermissions`: it asks for
 * permissions instead of denying what needs one.
 */
export function controlled(launch: Launch, asksPermissions = false): Controlled | null {
  const { wrapping } = launch;
  const control = wrapping?.control ?? null;
  if (wrapping === null || control === null || control.isFed) return null;
  const asking = asksPermissions ? control.permissions?.enable(control.withJsonInput) : undefined;
  const command = asking ?? control.withJsonInput;
  return {
    launch: { ...launch, command, given: launch.command, wrapping: { ...wrapping, printsJson: true } },
    control,
  };
}

/**
 * Starts such a command: sends its prompt and the text on `stdin`, and closes its stdin when it only waits for input.
 * `stdin` is null if it has no text.
 */
export async function startControlled(
  { launch, control }: Controlled,
  stdin: Readable | null,
  options: Omit<StartOptions, "control" | "onIdle" | "listens">,
): Promise<Running> {
  const text = stdin === null ? "" : await textOf(stdin);
  let running: Running | null = null;
  running = await start(launch, { ...options, listens: true, control, onIdle: () => running?.endInput() });
  await running.channel?.send(control.withInput(control.first, text));
  return running;
}

/** A pipe that is open but sends nothing for this long has no text: Claude Code 2.1.325 waits as long. */
const SILENCE_MS = 3_000;

async function textOf(stdin: Readable): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  const isSilent = new Promise<true>((resolve) => setTimeout(() => resolve(true), SILENCE_MS).unref());
  const whole = (async () => {
    for await (const part of stdin as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > MAX_RECORD) throw new Error(`stdin has more than ${MAX_RECORD} bytes`);
      parts.push(part);
    }
    return false as const;
  })();
  if (await Promise.race([isSilent, whole])) {
    if (parts.length > 0) await whole;
    else {
      // Closing it before its end is the error that is expected here.
      whole.catch(() => {});
      stdin.destroy();
    }
  }
  return Buffer.concat(parts).toString("utf8");
}
