/** A thread of its own that reads what it is given into the index, and works out the trees it was told of while they are at hand. */
import { parentPort, workerData } from "node:worker_threads";
import { PROVIDERS } from "../providers/index.ts";
import { noReads } from "../transports/files.ts";
import type { Member, MemberSays } from "./crew.ts";
import { openLibrary } from "./open.ts";
import { loadSettings } from "./settings.ts";

const { env, roots } = workerData as Member;
const tell = (says: MemberSays) => parentPort?.postMessage(says);

const settings = await loadSettings(env);
const library = await openLibrary({ env, settings, talk: () => {}, onProgress: () => tell({ is: "file" }), isMember: true });
library.lookBelow(roots.flatMap((root) => PROVIDERS.filter((p) => p.name === root.provider).map((provider) => ({ ...root, provider }))));

parentPort?.on("message", async (paths: readonly string[] | null) => {
  if (paths === null) {
    library.close();
    parentPort?.close();
    return;
  }
  await library.refreshPaths(paths);
  tell({ is: "done", counts: library.counts });
  Object.assign(library.counts, noReads());
});
