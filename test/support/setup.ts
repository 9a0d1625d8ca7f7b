/**
 * Runs before each test file. Windows adds the real profile folder to the environment of every process, which must not
 * override the home of a test.
 */
if (process.platform === "win32") Reflect.deleteProperty(process.env, "USERPROFILE");
