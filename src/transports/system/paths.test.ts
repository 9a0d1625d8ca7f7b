import { describe, expect, it } from "vitest";
import { pathsOf } from "./paths.ts";

describe("Windows paths", () => {
  const { join, resolve, dirname, basename, isAbsolute, normal, inside } = pathsOf("win32");

  it("are written with slashes, including drives and shares", () => {
    expect(join("C:\\Users\\dev", ".claude", "projects\\x")).toBe("C:/Users/dev/.claude/projects/x");
    expect(join("C:\\Users\\dev/.claude", "projects")).toBe("C:/Users/dev/.claude/projects");
    expect(join("\\\\server\\share\\home", "a")).toBe("//server/share/home/a");
    expect(resolve("C:\\a", "..\\b")).toBe("C:/b");
    expect(dirname("C:\\a\\b")).toBe("C:/a");
    expect(dirname("C:/a")).toBe("C:/");
    expect(basename("C:\\a\\b.jsonl")).toBe("b.jsonl");
    expect(["C:\\x", "c:/x", "\\\\server\\share", "x\\y", "C:x"].map(isAbsolute)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  it("have one spelling", () => {
    expect(["C:\\a\\", "C:/a/.", "C:\\a\\b\\..", "C:\\", "\\\\server\\share\\a\\"].map(normal)).toEqual([
      "C:/a",
      "C:/a",
      "C:/a",
      "C:/",
      "//server/share/a",
    ]);
  });

  it("are below a folder in any notation of both", () => {
    expect(inside("C:\\Users\\dev/.claude", "C:\\Users\\dev\\.claude\\projects\\a\\b.jsonl")).toBe(
      "projects/a/b.jsonl",
    );
    expect(inside("C:/a", "C:/ab/c")).toBeNull();
    expect(inside("C:/", "C:/a")).toBe("a");
    expect(inside("C:/a", "C:/a")).toBeNull();
  });
});

describe.each(["linux", "darwin"])("paths of %s", (platform) => {
  const { join, normal, inside } = pathsOf(platform);

  it("keep a backslash, which is an ordinary character there", () => {
    expect(join("/home/dev", "a\\b")).toBe("/home/dev/a\\b");
    expect(inside("/home/dev", "/home/dev/a\\b")).toBe("a\\b");
  });

  it("have one spelling", () => {
    expect(["/a/", "/a//b/../", "/", "./x/"].map(normal)).toEqual(["/a", "/a", "/", "x"]);
    expect(inside("/a/", "/a/b")).toBe("b");
    expect(inside("/", "/b")).toBe("b");
  });
});
