import { describe, expect, it } from "vitest";
import { formatRoute, hasPage, linkOwner, parseRoute, threadOf } from "./route.ts";

describe("URLs of views", () => {
  it.each([
    ["claude://833fc0f4-1", { sort: "-cost" }],
    ["codex://a/b/c", {}],
    ["x://what?is#this", { q: "a b&c=d" }],
    ["x://100%", {}],
  ])("are parsed to the route they were made from: %s", (uri, params) => {
    expect(parseRoute(formatRoute({ page: "tree", uri, params }))).toEqual({ page: "tree", uri, params });
  });

  it("exist for pages without a thread", () => {
    for (const page of ["stats", "health"] as const)
      expect(parseRoute(formatRoute({ page, params: { since: "7d" } }))).toEqual({
        page,
        uri: null,
        params: { since: "7d" },
      });
  });

  it("contain the URI unescaped", () => {
    expect(formatRoute({ page: "agent", uri: "claude://833f/ae1c" })).toBe("#/agent/claude://833f/ae1c");
  });

  it("lead to the list of threads by default", () => {
    for (const hash of ["", "#", "#/", "#/nonsense", "#/tree", "#/tree/"])
      expect(parseRoute(hash)).toMatchObject({ page: "threads", uri: null });
    expect(parseRoute("#/?q=refund")).toEqual({ page: "threads", uri: null, params: { q: "refund" } });
  });

  it("omit empty parameters", () => {
    expect(formatRoute({ page: "threads", params: { q: "", product: null, status: undefined } })).toBe("#/");
  });

  it("give the thread of an agent", () => {
    expect(threadOf("claude://a/b")).toBe("claude://a");
    expect(threadOf("claude://a")).toBe("claude://a");
  });
});

describe("the owner of a route", () => {
  const from = (hash: string) => parseRoute(hash);

  it("is kept from list to list and within a thread, and not from a thread to a list", () => {
    expect(linkOwner(from("#/?owner=ann"), "costs")).toBe("ann");
    expect(linkOwner(from("#/?owner=ann"), "tree")).toBe("ann");
    expect(linkOwner(from("#/tree/claude://x?owner=ann"), "agent")).toBe("ann");
    expect(linkOwner(from("#/tree/claude://x?owner=ann"), "threads")).toBeNull();
    expect(linkOwner(from("#/now"), "threads")).toBeNull();
  });
});

it("some pages exist only on a machine or only on a team server", () => {
  expect([hasPage(true, "tree"), hasPage(true, "board"), hasPage(true, "now")]).toEqual([true, false, true]);
  expect([hasPage(false, "tree"), hasPage(false, "board"), hasPage(false, "now")]).toEqual([true, true, false]);
});
