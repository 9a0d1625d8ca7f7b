import { existsSync, rmSync } from "node:fs";
import type { Shipped } from "../../core/ports/shipped.ts";
import { faultKind } from "../../stores/fault.ts";
import { privateDatabase } from "../../transports/private.ts";
import { join } from "../../transports/system/paths.ts";
import { openShippedFile } from "../databases.ts";
import { asFailure } from "../failure.ts";
import { type Env, madeHome, retinueHome } from "../home.ts";

const shippedPath = (env: Env) => join(retinueHome(env), "shipped.sqlite");

/** Opens shipped.sqlite, creating it on first use. A damaged file is replaced: then everything is sent again. */
export async function openShipped(env: Env, notify: (text: string) => void): Promise<Shipped> {
  const path = shippedPath(env);
  const open = () => {
    madeHome(env);
    privateDatabase(path);
    return openShippedFile(path);
  };
  try {
    try {
      return await open();
    } catch (error) {
      if (faultKind(error) !== "damaged") throw error;
      for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
      notify(`${path} was damaged (${(error as Error).message}) and was deleted; everything is sent again`);
      return await open();
    }
  } catch (error) {
    throw asFailure(error, `cannot use ${path}`) ?? error;
  }
}

/** For reading: does not create the file. */
export const readShipped = async (env: Env, notify: (text: string) => void): Promise<Shipped> =>
  existsSync(shippedPath(env)) ? openShipped(env, notify) : openShippedFile(":memory:");
