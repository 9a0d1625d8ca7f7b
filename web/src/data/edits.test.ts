import { describe, expect, it } from "vitest";
import { changeOf, gist } from "./edits.ts";

describe("the file changes of a tool call", () => {
  it.each([
    [{ file_path: "/a", old_string: "x", new_string: "y" }, [{ path: "/a", before: "x", after: "y" }]],
    [{ filePath: "/a", oldString: "x", newString: "" }, [{ path: "/a", before: "x", after: "" }]],
    [{ path: "/a", content: "new" }, [{ path: "/a", before: "", after: "new" }]],
    [
      {
        file_path: "/a",
        edits: [
          { old_string: "1", new_string: "2" },
          { old_string: "3", new_string: "4" },
        ],
      },
      [
        { path: "/a", before: "1", after: "2" },
        { path: "/a", before: "3", after: "4" },
      ],
    ],
  ])("is recognised by the shape of its input: %o", (input, edits) => {
    expect(changeOf(input)).toEqual({ is: "edits", edits });
  });

  it.each([
    { input: "*** Begin Patch\n*** Update File: a" },
    "diff --git a/x b/x\n",
    { patch: "--- a/x\n+++ b/x\n@@ -1 +1 @@" },
  ])("are recognised as a patch: %o", (input) => {
    expect(changeOf(input)).toMatchObject({ is: "patch" });
  });

  it.each([null, undefined, 3, [], {}, { command: "ls" }, { content: "no path" }, { edits: "none" }, "text"])(
    "are null for %o",
    (input) => {
      expect(changeOf(input)).toBeNull();
    },
  );

  it("are summarised by the most significant input value", () => {
    expect(gist({ command: "ls -l", description: "List" })).toBe("List");
    expect(gist({ n: 1, what: "x" })).toBe("x");
    expect(gist({ n: 1 })).toBe('{"n":1}');
    expect(gist(null)).toBe("");
  });
});
