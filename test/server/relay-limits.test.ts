/** Limits of a followed server, by its own permission requests. */
import { describe, expect, it } from "vitest";
import { RelayLimits } from "../../src/app/guard/relay.ts";
import { limitEvents } from "../../src/app/guard/report.ts";
import type { AskedPermission } from "../../src/core/ports/control.ts";
import { permissions } from "../../src/providers/kit/opencode/permissions.ts";
import { homeWith } from "../support/limited-home.ts";
import { until } from "../support/server.ts";

const THREE = "limits:\n  agents: { max: 3, action: deny }\n";

describe("a followed server", () => {
  const frame = (type: string, properties: object) => ({ payload: { type, properties } });
  const asked = (id: string, sessionID: string, permission = "task") =>
    frame("permission.asked", {
      id,
      sessionID,
      permission,
      patterns: ["general"],
      metadata: { description: `Task ${id}`, subagent_type: "general" },
      tool: { callID: `call_${id}` },
    });

  function following(limits: string) {
    const env = homeWith(limits);
    const rejected: string[] = [];
    const open = new Map<string, AskedPermission>();
    const { guard } = permissions;
    if (guard === undefined) throw new Error("no guard");
    const close = (id: string) => {
      const asked = open.get(id);
      open.delete(id);
      if (asked !== undefined) relayed.onClosed(asked);
    };
    const relayed = new RelayLimits({
      env,
      provider: "opencode",
      guard,
      openIn: (session) => [...open.values()].flatMap(({ id, sessionId }) => (sessionId === session ? [id] : [])),
      reject: async (id, text) => {
        rejected.push(`${id}: ${text}`);
        close(id);
      },
    });
    const see = (raw: unknown) => {
      relayed.onFrame(raw);
      const change = permissions.changeIn(raw);
      if (change === null || !("asked" in change)) return;
      open.set(change.asked.id, change.asked);
      relayed.onAsked(change.asked, null);
    };
    return { env, rejected, see, close };
  }

  it("rejects spawns beyond a limit when a person has answered the others of the session", async () => {
    const { env, rejected, see, close } = following(THREE);
    see(frame("session.created", { info: { id: "ses_1" } }));
    for (const id of ["a", "b", "c", "d", "e"]) see(asked(id, "ses_1"));
    see(asked("f", "ses_1", "bash"));
    for (const id of ["a", "b", "c"]) close(id);
    await until(() => limitEvents(env).length === 2);
    expect(rejected).toEqual([]);
    close("f");
    await until(() => rejected.length > 1);
    expect(rejected).toEqual([
      expect.stringMatching(/^d: retinue: this agent was not started, .* its limit is 3/),
      expect.stringMatching(/^e: retinue: /),
    ]);
    expect(limitEvents(env).find(({ id }) => id === "call_d")).toMatchObject({
      uri: "opencode://ses_1",
      via: "relay",
      type: "general",
      description: "Task d",
    });
  });

  it("knows when an agent has ended", async () => {
    const { rejected, see, close } = following("limits:\n  concurrent: { max: 1 }\n");
    see(frame("session.created", { info: { id: "ses_1" } }));
    see(asked("a", "ses_1"));
    close("a");
    see(frame("session.created", { info: { id: "ses_2", parentID: "ses_1" } }));
    see(asked("b", "ses_1"));
    await until(() => rejected.length > 0);
    see(frame("session.idle", { sessionID: "ses_2" }));
    see(asked("c", "ses_1"));
    close("c");
    see(asked("d", "ses_1"));
    await until(() => rejected.length > 1);
    expect(rejected.map((text) => text.split(":")[0])).toEqual(["b", "d"]);
  });

  it("knows the depth from the parents of sessions", async () => {
    const { rejected, see } = following("limits:\n  depth: { max: 1 }\n");
    see(frame("session.created", { info: { id: "ses_1" } }));
    see(frame("session.created", { info: { id: "ses_2", parentID: "ses_1" } }));
    see(asked("a", "ses_1"));
    see(asked("b", "ses_2"));
    await until(() => rejected.length > 0);
    expect(rejected).toEqual([expect.stringMatching(/^b: .*it would be at depth 2/)]);
  });
});
