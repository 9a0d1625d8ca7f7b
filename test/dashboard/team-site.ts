/** A team server with people, and tabs of a real browser with their sessions. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { Scope } from "../../src/core/ports/team.ts";
import { needsPosix } from "../support/needs.ts";
import { startTeam, type TestTeam } from "../team/server.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { fillTeam } from "./people.ts";
import { cookieOf } from "./server.ts";
import { type Visit, visit } from "./visit.ts";

export interface TeamSite {
  readonly browser: Browser;
  readonly team: TestTeam;
  readonly url: string;
  /** Of somebody who reads the teams of all people. */
  readonly tab: TeamVisit;
  /** A tab with the session of a new token. */
  visitAs(owner: string, scope: Scope, ...teams: string[]): Promise<TeamVisit>;
}

export interface TeamVisit extends Visit {
  readonly token: string;
}

/** For all tests of a file, in the returned object. Call it once. */
export function teamSite(people: number): TeamSite {
  const site = {
    async visitAs(owner, scope, ...teams) {
      const { browser, team, url } = site;
      const token = await team.token(owner, scope, ...teams);
      return { ...(await visit(browser, { url, cookie: await cookieOf(url, token) })), token };
    },
  } as TeamSite;
  beforeEach(needsPosix("PostgreSQL for tests"));
  beforeAll(async () => {
    if (process.platform === "win32") return;
    const [browser, team] = await Promise.all([sharedBrowser(), startTeam()]);
    Object.assign(site, { browser, team, url: (team.servers[0]?.url ?? "").replace(/\/$/, "") });
    await fillTeam(team, people);
    Object.assign(site, { tab: await site.visitAs("lead", "read", "core", "web") });
  });
  afterAll(async () => {
    await closeTabs(site.browser);
    await site.team?.close();
  });
  return site;
}
