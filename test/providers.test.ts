import { join } from "node:path";
import { PROVIDERS } from "../src/providers/index.ts";
import { providerContract } from "./contract/provider.ts";
import { FIXTURES } from "./fixtures.ts";

for (const provider of PROVIDERS) providerContract(provider, join(FIXTURES, provider.name));
