/** Homes with settings, for tests of limits. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export function homeWith(settings: string): { readonly HOME: string; readonly RETINUE_HOME: string } {
  const home = mkdtempSync(join(tmpdir(), "retinue-guard-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  mkdirSync(join(home, ".config/retinue"), { recursive: true });
  writeFileSync(join(home, ".config/retinue/config.yaml"), settings);
  return { HOME: home, RETINUE_HOME: join(home, "data") };
}
