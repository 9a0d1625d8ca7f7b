import { expect, it } from "vitest";
import { browserCommand } from "./browser.ts";

const ADDRESS = "http://127.0.0.1:4711/?token=a&b=%20c";

it.each([
  ["linux", { DISPLAY: ":0" }, ["xdg-open", ADDRESS]],
  ["linux", { WAYLAND_DISPLAY: "wayland-0" }, ["xdg-open", ADDRESS]],
  ["linux", {}, null],
  ["linux", { WSL_DISTRO_NAME: "Ubuntu", DISPLAY: ":0" }, ["rundll32.exe", "url.dll,FileProtocolHandler", ADDRESS]],
  ["darwin", {}, ["open", ADDRESS]],
  ["win32", {}, ["rundll32.exe", "url.dll,FileProtocolHandler", ADDRESS]],
])("on %s with %o a browser is opened by %j", (platform, env, command) =>
  expect(browserCommand(ADDRESS, platform, env)).toEqual(command),
);
