import { readFileSync } from "node:fs";

/** The version of retinue. */
export function productVersion(): string {
  return (JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string })
    .version;
}
