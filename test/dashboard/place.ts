/** The server of a test: vitest.config.ts runs some files twice, with a local server and with a team server. */
import { rmSync } from "node:fs";
import { describe, it } from "vitest";
import { retinue } from "../support/cli.ts";
import { startTeam } from "../team/server.ts";
import { cookieOf, type Running, serve, temporaryData } from "./server.ts";

export const isTeam = process.env.RETINUE_TEST_DASHBOARD === "team";

const none: unknown = () => {};
/** For tests of features that a team server does not have, or that do not depend on the server. */
export const localIt = isTeam ? (none as typeof it) : it;
export const localDescribe = isTeam ? (none as typeof describe) : describe;

/** The owner of all threads on the team server. */
export const OWNER = "ann";

/** On a team server, links to a thread name its owner. */
export const owned = (hash: string) => (isTeam ? `${hash}${hash.includes("?") ? "&" : "?"}owner=${OWNER}` : hash);

/** A server with the recordings of this home; they are shipped first if it is a team server. */
export const start = (home: string): Promise<Running> => (isTeam ? serveTeam(home) : serve(home));

/** A server whose threads still grow. On a team server, a second, local server ships them. */
export async function startLive(home: string): Promise<Running> {
  return isTeam ? serveTeam(home, true) : serve(home);
}

async function serveTeam(home: string, isLive = false): Promise<Running> {
  const team = await startTeam();
  const url = (team.servers[0]?.url ?? "").replace(/\/$/, "");
  const env = { RETINUE_TEAM_TOKEN: await team.token(OWNER, "ship", "core") };
  const token = await team.token("lead", "read", "core");
  const data = temporaryData();
  const machine = isLive ? await serve(home, { env, settings: `team:\n  url: ${url}\n` }) : null;
  if (!isLive) {
    const { code, stderr } = await retinue(home, ["ship", "--once", "--to", url], { ...env, RETINUE_HOME: data });
    if (code !== 0) throw new Error(`ship ended with ${code}: ${stderr}`);
  }
  const get = (path: string) => team.get(path, token);
  return {
    url,
    home,
    pid: process.pid,
    cookie: await cookieOf(url, token),
    get,
    json: async <T>(path: string) => (await (await get(path)).json()) as T,
    stop: async () => {
      await machine?.stop();
      await team.close();
      for (const folder of [home, data]) rmSync(folder, { recursive: true, force: true });
    },
  };
}
