/** Refusals of channel configurations and certificates. */
export const credentialsCodes = {
  certificate_exists: {
    title: 'Certificate already exists',
    meaning: 'The same certificate or key was uploaded before; `id` names it.',
    remedy: 'Use the existing one.',
  },
  certificate_not_trusted: {
    title: 'Certificate not trusted',
    meaning: 'No administrator trusts this certificate or key, so nothing is verified with it.',
    remedy: 'Have an administrator compare its fingerprint with the console of the channel and trust it.',
  },
  certificate_pair_mismatch: {
    title: 'Certificate and key do not match',
    meaning: 'The certificate and the private key that would be used together do not match.',
    remedy: 'Upload the other half first; both become the default together.',
  },
  certificate_unusable: {
    title: 'Certificate unusable',
    meaning: 'The channel configuration would not work with this certificate.',
    remedy: 'Correct what the message names first.',
  },
  channel_disabled: {
    title: 'Channel disabled',
    meaning: 'The channel is disabled for this project; existing orders are still processed.',
    remedy: 'Use another payWay or have the channel enabled.',
  },
  channel_not_configured: {
    title: 'Channel not configured',
    meaning: 'The project has no usable configuration of this channel.',
    remedy: 'Complete the channel configuration; testing it shows what is missing.',
  },
  configuration_broken: {
    title: 'Configuration cannot be decrypted',
    meaning: 'The stored secrets of this channel configuration cannot be decrypted with any master key.',
    remedy: 'Check Security.MasterKey, or set the secrets of the configuration again.',
  },
  debug_refuses_live: {
    title: 'Live configuration refused in Debug',
    meaning:
      'While Debug is on, test applications with publicly known secrets are active, so live configurations are refused.',
    remedy: 'Set Debug = false.',
  },
  production_refuses_simulator: {
    title: 'Simulator refused in production',
    meaning: 'Orders of the simulator are paid without money, so its configurations cannot be written in production.',
    remedy: 'Use the live account or the sandbox of the channel, or a staging service (Server.Environment).',
  },
  staging_refuses_live: {
    title: 'Live configuration refused in staging',
    meaning: 'Server.Environment is staging, where no real money may move, so live configurations are refused.',
    remedy: 'Use the sandbox of the channel or the simulator; live configurations belong to production.',
  },
  trust_not_needed: {
    title: 'Nothing to trust',
    meaning: 'A certificate or key of this kind is used to sign; only what verifies is trusted.',
    remedy: 'Use it as it is; the list of certificates shows which of them are to be trusted.',
  },
} as const;
