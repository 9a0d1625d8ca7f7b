import { createInterface } from "node:readline/promises";
import { Failure } from "../../app/failure.ts";
import { visible } from "../../core/tools/visible.ts";
import type { Context } from "../context.ts";

/** Asks on the terminal. Throws a usage error if stdin is not a terminal. */
export async function isConfirmed({ host: { stdin, stderr } }: Context, question: string): Promise<boolean> {
  if (!stdin.isTTY)
    throw new Failure("usage", "cannot ask for confirmation: stdin is not a terminal", [
      "add --yes to apply the change",
    ]);
  const prompt = createInterface({ input: stdin, output: stderr });
  try {
    return /^y(es)?$/i.test((await prompt.question(`${visible(question)} [y/N] `)).trim());
  } finally {
    prompt.close();
  }
}
