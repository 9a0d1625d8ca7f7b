import type { RunEnded } from "../../core/ports/run-note.ts";
import { privateFolder, writePrivate } from "../../transports/private.ts";
import { dirname } from "../../transports/system/paths.ts";
import { forwardSignals, wrap } from "../../transports/wrapped.ts";
import { Failure } from "../failure.ts";
import type { AttachPlan } from "./attach.ts";

export { endAs } from "../../transports/wrapped.ts";

/** Writes the copies, and runs the product in the foreground with our terminal until it ends. */
export async function perform(plan: AttachPlan, env: NodeJS.ProcessEnv): Promise<RunEnded> {
  writeCopies(plan);
  const running = await start(plan, env);
  const stop = forwardSignals(running);
  try {
    return await running.ended;
  } finally {
    stop();
  }
}

function writeCopies({ copies }: AttachPlan): void {
  for (const { path, records } of copies) {
    privateFolder(dirname(path));
    writePrivate(path, `${records.join("\n")}\n`, "wx");
  }
}

function start({ command, cwd, product }: AttachPlan, env: NodeJS.ProcessEnv) {
  return wrap({ command, env, cwd, output: process.stdout }).catch((error: NodeJS.ErrnoException) => {
    throw new Failure("failed", `${command[0]} cannot be started: ${error.message}`, [
      `install ${product}, or add the folder of ${command[0]} to PATH`,
    ]);
  });
}
