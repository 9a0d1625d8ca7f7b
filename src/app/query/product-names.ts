import { PROVIDERS } from "../../providers/loaded.ts";

/** The names of products, by provider. */
export const PRODUCT_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  PROVIDERS.map(({ name, product }) => [name, product]),
);
