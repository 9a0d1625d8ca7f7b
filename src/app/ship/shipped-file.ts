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
  return opened(env, (error) => {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
    notify(`${path} was damaged (${error.message}) and was deleted; everything is sent again`);
    return openIn(env);
  });
}

/** For reading: neither creates nor replaces the file. */
export async function readShipped(env: Env, notify: (text: string) => void): Promise<Shipped> {
  const path = shippedPath(env);
  if (!existsSync(path)) return openShippedFile(":memory:");
  return opened(env, (error) => {
    notify(`${path} is damaged (${error.message}); the next shipment replaces it and sends everything again`);
    return openShippedFile(":memory:");
  });
}

function openIn(env: Env): Promise<Shipped> {
  madeHome(env);
  privateDatabase(shippedPath(env));
  return openShippedFile(shippedPath(env));
}

async function opened(env: Env, onDamage: (error: Error) => Promise<Shipped>): Promise<Shipped> {
  try {
    return await openIn(env).catch((error: unknown) => {
      if (faultKind(error) !== "damaged") throw error;
      return onDamage(error as Error);
    });
  } catch (error) {
    throw asFailure(error, `cannot use ${shippedPath(env)}`) ?? error;
  }
}
