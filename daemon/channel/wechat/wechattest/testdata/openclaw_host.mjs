// What the vendor's client takes from the program it is a plugin of, for openclaw_weixin.mjs: module hooks
// that answer its imports of openclaw/plugin-sdk. Nothing of it reaches the platform.
const host = `
import os from "node:os";
export const resolvePreferredOpenClawTmpDir = () => process.env.OPENCLAW_STATE_DIR ?? os.tmpdir();
export const normalizeAccountId = (id) => id.trim().toLowerCase().replace(/[^a-z0-9_-]/g, "-");
export const withFileLock = async (path, options, work) => work();
export const fireAndForgetHook = () => {};
export const buildCanonicalSentMessageHookContext = () => ({});
export const toPluginMessageContext = () => ({});
export const toPluginMessageSentEvent = () => ({});
export const getGlobalHookRunner = () => undefined;
`;

export function resolve(name, context, next) {
  return name.startsWith("openclaw/") ? { url: "openclaw:host", shortCircuit: true } : next(name, context);
}

export function load(url, context, next) {
  return url === "openclaw:host" ? { format: "module", source: host, shortCircuit: true } : next(url, context);
}
