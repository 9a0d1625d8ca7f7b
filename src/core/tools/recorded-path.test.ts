import { expect, it } from "vitest";
import { isWithin } from "./recorded-path.ts";

it.each([
  ["/home/dev/shop", "/home/dev/shop/", true],
  ["/home/dev/shop/api", "/home/dev/shop", true],
  ["/home/dev/shopping", "/home/dev/shop", false],
  ["/home/dev/Shop", "/home/dev/shop", false],
  ["/x", "/", true],
  ["C:\\Users\\dev\\Shop\\api", "c:/users/DEV/shop", true],
  ["C:\\Users\\dev\\shop", "C:\\Users\\dev\\shop\\", true],
  ["C:\\Users\\dev\\shop", "D:\\Users\\dev\\shop", false],
  ["C:\\x", "C:\\", true],
  ["\\\\server\\share\\a", "//SERVER/share", true],
  // A backslash is an ordinary character elsewhere.
  ["/home/dev/a\\b", "/home/dev/a", false],
])("%s lies in %s: %s", (path, folder, is) => expect(isWithin(path, folder)).toBe(is));

it("ignores case if the file system does", () => {
  expect(isWithin("/Users/dev/Shop/api", "/users/dev/shop", true)).toBe(true);
  expect(isWithin("/Users/dev/Shopping", "/users/dev/shop", true)).toBe(false);
});
