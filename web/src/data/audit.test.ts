import { describe, expect, it } from "vitest";
import { auditText } from "./audit.ts";
import type { AuditEntry } from "./types.ts";

const THREAD = "claude://aaaaaaaa-0000-4000-8000-000000000001";
const entry = (action: string, subject: string | null): AuditEntry => ({
  at: "2026-11-18T09:00:00.000Z",
  token: null,
  owner: "ann",
  action,
  subject,
  threadOwner: null,
});
const text = (action: string, subject: string | null = null) => auditText(entry(action, subject)).text;

describe("an entry of the audit log", () => {
  it("says in words what was changed", () => {
    expect(text("session")).toBe("signed in");
    expect(text("token-created", "e024be7424b1 ship cid")).toBe(
      "created the token e024be7424b1 with scope ship for cid",
    );
    expect(text("unshared", "ann core,docs")).toBe("ended sharing the threads of ann with core, docs");
    expect(text("token-revoked", "e024be7424b1")).toBe("revoked the token e024be7424b1");
    expect(text("budget-set", "project big shop 12.5")).toBe("set the budget of project big shop to $12.50 a month");
    expect(text("budget-set", "owner ann 200")).toBe("set the budget of ann to $200.00 a month");
    expect(text("budget-removed", "team core")).toBe("removed the budget of team core");
    expect(text("pruned", "events_2026_01 events_2026_02")).toBe("dropped the events of 2026-01, 2026-02");
  });

  it("names the thread that was viewed, but not an address that was searched for", () => {
    expect(auditText(entry("tree", THREAD))).toEqual({ text: "viewed the thread", thread: THREAD });
    expect(auditText(entry("live", null))).toEqual({ text: "followed all threads live", thread: null });
    expect(auditText(entry("search", THREAD))).toEqual({ text: `searched for “${THREAD}”`, thread: null });
    expect(auditText(entry("new-action", THREAD))).toEqual({ text: "new-action", thread: THREAD });
    expect(auditText(entry("threads", null))).toEqual({ text: "viewed the list of threads", thread: null });
    expect(text("new-action", "some words")).toBe("new-action some words");
  });
});
