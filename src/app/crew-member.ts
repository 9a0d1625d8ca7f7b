/** A thread of its own that reads what it is given into the index, and works out the trees it was told of while they are at hand. */
import { parentPort, workerData } from "node:worker_threads";
import { PROVIDERS } from "../providers/index.ts";
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
  const before = { ...library.counts };
  await library.refreshPaths(paths);
  const { files, bytes, lines } = library.counts;
  tell({ is: "done", counts: { files: files - before.files, bytes: bytes - before.bytes, lines: lines - before.lines } });
});
