import { readdirSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { threadKey } from "../../core/facts/ids.ts";
import { formatUri } from "../../core/facts/uri.ts";
import { type StatusRequest, specificFirst } from "../../core/ports/manifest.ts";
import type { JsonObject } from "../../core/tools/json.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import * as products from "../../providers/index.ts";
import type { Env } from "../home.ts";
import { notedInstance } from "../instance-note.ts";

export { readInput } from "../../transports/bounded.ts";

/** A request for a status line, and the provider that read it. */
export interface ProviderStatusRequest extends StatusRequest {
  readonly provider: string;
}

const STATUS_LINES = specificFirst(
  Object.values(products).flatMap(({ name, statusLine }) =>
    statusLine === undefined ? [] : [{ provider: name, ...statusLine }],
  ),
);

/** The session that a status line is requested for; null if the input is not a known product's. */
export function statusRequestIn(json: JsonObject): ProviderStatusRequest | null {
  for (const { provider, read } of STATUS_LINES) {
    const request = read(json);
    if (request !== null) return { provider, ...request };
  }
  return null;
}

/** A busy server is not waited for. */
const TIMEOUT_MS = 100;

/** The tree of one session: from the running server, else from the session's files alone. */
export async function sessionTree(request: ProviderStatusRequest, env: Env): Promise<AgentTree | null> {
  return (await fromServer(request, env)) ?? fromFiles(request, env);
}

function fromServer({ provider, thread }: ProviderStatusRequest, env: Env): Promise<AgentTree | null> {
  const server = notedInstance(env);
  if (server === null) return Promise.resolve(null);
  const url = new URL(`/api/agents/${encodeURIComponent(formatUri(provider, thread, null))}`, server.url);
  const headers = server.token === null ? {} : { Authorization: `Bearer ${server.token}` };
  return new Promise((resolve) => {
    const request = get(url, { headers, timeout: TIMEOUT_MS }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () =>
        resolve(response.statusCode === 200 ? (JSON.parse(Buffer.concat(parts).toString("utf8")) as AgentTree) : null),
      );
      response.on("error", () => resolve(null));
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(null));
  });
}

/**
 * Loaded only if no server is running. Without costs, because the price list takes longer to load than everything else.
 */
async function fromFiles(
  { provider, thread, transcript, folder }: ProviderStatusRequest,
  env: Env,
): Promise<AgentTree | null> {
  const [{ openLibrary }, { loadSettings }, { treeOf }, { knownRoots }] = await Promise.all([
    import("../open.ts"),
    import("../settings/settings.ts"),
    import("../../core/views/record.ts"),
    import("../ingest/discover.ts"),
  ]);
  const settings = await loadSettings(env);
  const library = await openLibrary({ env, settings, notify: () => {} });
  try {
    library.setRoots(knownRoots(env, settings.values["roots.<provider>"]));
    await library.refreshPaths([
      ...(transcript === null ? [] : [transcript]),
      ...(folder === null ? [] : filesBelow(folder)),
    ]);
    const key = threadKey(provider, thread);
    const forest = library.forestOf([key]);
    return forest.agents.has(key) ? treeOf(forest, key, () => null) : null;
  } finally {
    library.close();
  }
}

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap((entry) =>
      entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
    );
  } catch {
    // No agents yet.
    return [];
  }
}
