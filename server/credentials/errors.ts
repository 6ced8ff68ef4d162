import { AppError, Conflict, InvalidRequest, NotAllowed, Unavailable } from '../errors.ts';
import type { PayWay } from '../payments/channel.ts';

/** The channel is disabled and accepts no new orders (422). Orders in progress continue. */
export class ChannelDisabled extends NotAllowed {
  constructor(payWay: PayWay) {
    super('channel_disabled', `The channel ${payWay} is disabled.`);
  }
}

/** The project has no usable configuration of the channel (422). */
export class ChannelNotConfigured extends NotAllowed {
  constructor(payWay: PayWay, detail = 'is not configured', cause?: unknown) {
    super('channel_not_configured', `The channel ${payWay} ${detail}.`, { cause });
  }
}

/** The channel has no configuration yet, because the simulator did not return one (503). A retry may succeed. */
export class SimulatorSilent extends Unavailable {
  constructor(payWay: PayWay, cause: unknown) {
    super('channel_not_configured', `The channel ${payWay} is not configured yet: the simulator did not answer.`, {
      cause,
    });
  }
}

/** The channel has no configuration that could be enabled, disabled or tested (409). */
export class NothingConfigured extends Conflict {
  constructor(payWay: PayWay) {
    super('channel_not_configured', `The channel ${payWay} is not configured.`, {
      hint: 'Configure the channel first. Its configuration schema lists the required fields (GET …/payment/config/{payWay}/schema).',
    });
  }
}

/** A configuration's secrets cannot be decrypted (503): the database was changed or the master key is missing. */
export class ConfigurationBroken extends AppError {
  constructor(project: string, payWay: PayWay, cause: unknown) {
    super(
      'configuration_broken',
      503,
      `The secrets of the ${payWay} configuration of project ${project} cannot be decrypted.`,
      {
        retryAfter: 60,
        hint: 'Check Security.MasterKey, or set the secrets of the configuration again.',
        cause,
      },
    );
  }
}

/** An untrusted verification key cannot become the default (409). */
export class CertNotTrusted extends Conflict {
  constructor() {
    super('certificate_not_trusted', 'This certificate or key is not trusted, so it cannot verify messages.', {
      hint: 'An administrator must compare the fingerprint of this certificate or key with the fingerprint that the console of the channel shows, and then trust it: payctl cert trust ID',
    });
  }
}

/** Only verification keys can be trusted or distrusted (409). */
export class TrustNotNeeded extends Conflict {
  constructor(kind: string) {
    super('trust_not_needed', `A ${kind} verifies nothing, so it needs no trust.`);
  }
}

/** A field of a configuration or certificate is invalid (400). */
export function fieldRefused(pointer: string, code: string, detail: string): InvalidRequest {
  return new InvalidRequest(`${pointer.slice(1)} ${detail}.`, [{ pointer, code, detail }]);
}
