import { describe, expect, it } from "vitest";
import { layout } from "./layout.ts";

const keys = (...args: Parameters<typeof layout>) => layout(...args).columns.map(({ key }) => key);

describe("the columns of the tree", () => {
  it("are as many as fit", () => {
    expect(keys(380, "both", false)).toEqual(["Σcost", "Σtime"]);
    expect(keys(1280, "both", false)).toEqual([
      "tokens",
      "Σtokens",
      "cost",
      "Σcost",
      "time",
      "Σtime",
      "tools",
      "Σtools",
      "errors",
      "Σerrors",
    ]);
    expect(keys(2560, "both", false)).toContain("ΣcacheWrite");
    expect(keys(1280, "own", false)).toEqual([
      "input",
      "output",
      "cacheRead",
      "cacheWrite",
      "cost",
      "time",
      "tools",
      "errors",
    ]);
    expect(keys(300, "own", false)).toEqual(["Σcost"]);
  });

  it("are tokens by kind on request, at any width", () => {
    expect(keys(380, "total", true)).toContain("ΣcacheRead");
  });
});
