/**
 * Runs before each file of tests. Windows adds the real profile folder to the environment of every process, where tests
 * give a home of their own.
 */
if (process.platform === "win32") Reflect.deleteProperty(process.env, "USERPROFILE");
