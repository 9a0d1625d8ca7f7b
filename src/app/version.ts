import { readFileSync } from "node:fs";
import { ownFile } from "./own-files.ts";

/** The version of retinue. */
export function productVersion(): string {
  return (JSON.parse(readFileSync(ownFile("package.json"), "utf8")) as { version: string }).version;
}
