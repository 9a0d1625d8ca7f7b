/** Installs a pinned version of a product once, outside the repository, and returns the path of its program. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";

export interface Product {
  /** Name of the npm package. */
  package: string;
  version: string;
  /** Candidates for its program below node_modules; the first that exists is used. */
  programs: string[];
  /** Additional packages, with versions. */
  also?: string[];
}

const INSTALL_TIMEOUT_MS = 300_000;

function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return env.RETINUE_REAL_CACHE || join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "retinue-real");
}

/** The command that starts the product: a native program, or a script with the Node that runs this. */
export async function install(product: Product): Promise<string[]> {
  const folder = folderOf(product);
  if (!existsSync(folder)) await installInto(folder, product);
  const program = product.programs.map((path) => join(folder, "node_modules", path)).find((path) => existsSync(path));
  if (!program)
    throw new Error(`${product.package}@${product.version} in ${folder} has none of ${product.programs.join(", ")}`);
  if (program.endsWith(".br")) return [await unpacked(program)];
  return /\.[cm]?js$/.test(program) ? [process.execPath, program] : [program];
}

/** Programs that their package compresses, and unpacks in a script. */
async function unpacked(packed: string): Promise<string> {
  const program = packed.slice(0, -".br".length);
  if (existsSync(program)) return program;
  const draft = `${program}.${process.pid}`;
  await writeFile(draft, await promisify(brotliDecompress)(await readFile(packed)), { mode: 0o755 });
  await rename(draft, program);
  return program;
}

const folderOf = (product: Pick<Product, "package" | "version">) =>
  join(cacheFolder(), `${product.package.replaceAll("/", "+")}@${product.version}`);

/** The folder of an installed product's packages. */
export const installedAt = (product: Pick<Product, "package" | "version">) => join(folderOf(product), "node_modules");

/** Installs in a temporary folder and moves it into place, so that an interrupted installation is never used. */
async function installInto(folder: string, product: Product): Promise<void> {
  await mkdir(cacheFolder(), { recursive: true });
  const unfinished = await mkdtemp(join(cacheFolder(), "unfinished-"));
  try {
    await writeFile(join(unfinished, "package.json"), '{ "private": true }\n');
    const flags = [
      "--ignore-scripts",
      "--legacy-peer-deps",
      "--no-audit",
      "--no-fund",
      "--no-package-lock",
      "--loglevel=error",
    ];
    await promisify(execFile)(
      "npm",
      ["install", `${product.package}@${product.version}`, ...(product.also ?? []), ...flags],
      {
        cwd: unfinished,
        timeout: INSTALL_TIMEOUT_MS,
      },
    );
    await rename(unfinished, folder).catch((error: NodeJS.ErrnoException) => {
      // Another process was faster; its installation is equivalent.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}
