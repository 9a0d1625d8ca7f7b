import type { Provider } from "../core/ports/provider.ts";
import * as products from "./index.ts";
import { proxyOf } from "./proxy/index.ts";
import { run } from "./run/index.ts";

const loaded: readonly Provider[] = await Promise.all(Object.values(products).map((one) => one.load()));

/** The providers of all products, forks last: if the output of two is the same, the first one counts. */
export const PRODUCTS: readonly Provider[] = [
  ...loaded.filter(({ forkOf }) => forkOf === undefined),
  ...loaded.filter(({ forkOf }) => forkOf !== undefined),
];

/** The products, and the providers of retinue's own recordings of unknown ones: wrapped commands and API traffic. */
export const PROVIDERS: readonly Provider[] = [...PRODUCTS, run, proxyOf(PRODUCTS)];
