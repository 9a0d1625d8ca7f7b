/** A thread of its own that reads what it is given into the index, and works out the trees it was told of while they are at hand. */
import { parentPort, workerData } from "node:worker_threads";
import { PROVIDERS } from "../providers/index.ts";
import { noReads } from "../transports/files.ts";
import type { Member, MemberSays } from "./crew.ts";
import { openLibrary } from "./open.ts";
import { loadSettings } from "./settings.ts";

/** Somebody may look at a progress bar; nobody sees more than this. */
const TELL_MS = 50;

const { env, roots } = workerData as Member;
const tell = (says: MemberSays) => parentPort?.postMessage(says);

let [files, told] = [0, 0];
const onProgress = () => {
  files += 1;
  if (performance.now() - told < TELL_MS) return;
  tell({ files, done: null });
  [files, told] = [0, performance.now()];
};

const library = await openLibrary({ env, settings: await loadSettings(env), talk: () => {}, onProgress, isMember: true });
library.lookBelow(roots.flatMap((root) => PROVIDERS.filter((p) => p.name === root.provider).map((provider) => ({ ...root, provider }))));

async function work(paths: readonly string[] | null): Promise<void> {
  if (paths === null) {
    if (parentPort === null || isDone) return;
    isDone = true;
    library.close();
    parentPort.close();
    return;
  }
  await library.refreshPaths(paths);
  tell({ files, done: library.counts });
  files = 0;
  Object.assign(library.counts, noReads());
}

let isDone = false;
let working = Promise.resolve();
parentPort?.on("message", (paths: readonly string[] | null) => {
  working = working.then(() => work(paths));
});
