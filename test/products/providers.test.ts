import { join } from "node:path";
import { providerContract } from "../contract/provider.ts";
import { FIXTURES, RECORDED } from "../support/fixtures.ts";

for (const provider of RECORDED) providerContract(provider, join(FIXTURES, provider.name));
