import { describe, expect, it } from "vitest";
import { formatRoute, parseRoute, threadOf } from "./route.ts";

describe("addresses", () => {
  it.each([
    ["claude://833fc0f4-1", { sort: "-cost" }],
    ["codex://a/b/c", {}],
    ["x://what?is#this", { q: "a b&c=d" }],
    ["x://100%", {}],
  ])("come back as they were: %s", (uri, params) => {
    expect(parseRoute(formatRoute({ page: "tree", uri, params }))).toEqual({ page: "tree", uri, params });
  });

  it("name the pages that are of no thread", () => {
    for (const page of ["stats", "health"] as const)
      expect(parseRoute(formatRoute({ page, params: { since: "7d" } }))).toEqual({
        page,
        uri: null,
        params: { since: "7d" },
      });
  });

  it("show the URI as people know it", () => {
    expect(formatRoute({ page: "agent", uri: "claude://833f/ae1c" })).toBe("#/agent/claude://833f/ae1c");
  });

  it("lead to the list of threads when they say nothing else", () => {
    for (const hash of ["", "#", "#/", "#/nonsense", "#/tree", "#/tree/"])
      expect(parseRoute(hash)).toMatchObject({ page: "threads", uri: null });
    expect(parseRoute("#/?q=refund")).toEqual({ page: "threads", uri: null, params: { q: "refund" } });
  });

  it("leave out what is not set", () => {
    expect(formatRoute({ page: "threads", params: { q: "", product: null, status: undefined } })).toBe("#/");
  });

  it("know the thread of an agent", () => {
    expect(threadOf("claude://a/b")).toBe("claude://a");
    expect(threadOf("claude://a")).toBe("claude://a");
  });
});
