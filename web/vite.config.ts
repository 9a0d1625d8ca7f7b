import { join } from "node:path";
import { defineConfig } from "vite";
import solid from "vite-plugin-solid";

export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that the dashboard works below any path.
  base: "./",
  plugins: [solid()],
  build: {
    outDir: join(import.meta.dirname, "../dist/web"),
    emptyOutDir: true,
    target: "es2023",
    // The content security policy forbids data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  logLevel: "warn",
});
