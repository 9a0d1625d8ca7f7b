import { join } from "node:path";
import { PRODUCTS } from "../src/providers/index.ts";
import { providerContract } from "./contract/provider.ts";
import { FIXTURES } from "./fixtures.ts";

for (const provider of PRODUCTS) providerContract(provider, join(FIXTURES, provider.name));
