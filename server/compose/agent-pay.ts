import { Counter } from 'prom-client';
import { AGENT_PAY_LIVE, readPaymentCode, signPreorder } from '../channels/wechat/agent-pay.ts';
import { PREORDER_PATH } from '../channels/wechat/signature.ts';
import { channelTime } from '../channels/transport.ts';
import { refuseMode } from '../credentials/live-guard.ts';
import { readPrivateKey } from '../credentials/pem.ts';
import type { Sealing } from '../credentials/sealing.ts';
import type { Audit } from '../identity/audit.ts';
import { type Mode, TransportFailed, type Transport } from '../payments/channel.ts';
import { type AskCode, withAgentCode, type WithAgentCode } from '../skillpay/agent-code.ts';
import { agentPaySettings, type AgentPaySettings } from '../skillpay/agent-settings.ts';
import type { Base } from './base.ts';
import type { ServiceFigures } from './service-figures.ts';

interface Needs {
  sealing: Sealing;
  audit: Audit;
  /** Sends to WeChat. */
  send: Transport;
}

/** WeChat agent pay: who asks for codes, and the asking. */
export interface ComposedAgentPay {
  settings: AgentPaySettings;
  withAgentCode: WithAgentCode;
}

/** Assembles agent pay; where the simulator counts codes come from the simulator, otherwise from WeChat. */
export function composeAgentPay(base: Base, { sealing, audit, send }: Needs): ComposedAgentPay {
  const { config, store, now, log, metrics, simulatorUrl, figures } = base;
  const answers = new Counter({
    name: 'skillpay_agent_codes_total',
    help: 'Requests for payment codes of WeChat agents, by result.',
    labelNames: ['result'],
    registers: [metrics.registry],
  });
  const ask = counted(askWechat(send, simulatorUrl), figures);
  const modes = { simulated: config.simulated, requireMode: (mode: Mode) => refuseMode(config, mode) };
  const readKey = (pem: string) => readPrivateKey(pem, undefined);
  return {
    settings: agentPaySettings({ store, now, ...modes, sealing, audit, readKey, ask }),
    withAgentCode: withAgentCode({
      store,
      now,
      log,
      open: sealing.open,
      readKey,
      ask,
      count: (result) => answers.inc({ result }),
      patience: base.patience,
    }),
  };
}

/** The same, among the calls of channels. */
function counted(ask: AskCode, { channelCalled }: Pick<ServiceFigures, 'channelCalled'>): AskCode {
  return async (...asked) => {
    const began = performance.now();
    const said = await ask(...asked);
    const outcome = 'code' in said ? 'done' : 'refused';
    const seconds = (performance.now() - began) / 1000;
    channelCalled({ payWay: 'wechat', call: 'agent_preorder', outcome, seconds });
    return said;
  };
}

function askWechat(send: Transport, simulatorUrl: string | null): AskCode {
  return async (asker, { orderNo, mode, ...wish }) => {
    const host = mode === 'simulator' ? simulatorUrl && `${simulatorUrl}/wechat` : AGENT_PAY_LIVE;
    if (!host) return { fault: 'There is no simulator.' };
    const body = JSON.stringify(await signPreorder(asker, wish, channelTime()));
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    const about = { call: 'agent-preorder', ...(orderNo && { orderNo }) };
    try {
      const answer = await send({ method: 'POST', url: host + PREORDER_PATH, headers, body, about });
      const code = answer.status === 200 ? readPaymentCode(answer.body) : undefined;
      if (code !== undefined) return { code };
      return { fault: `${answer.status} ${answer.body.toString('utf8').slice(0, 200)}` };
    } catch (error) {
      if (error instanceof TransportFailed) return { fault: `${error.why}: ${error.message}` };
      throw error;
    }
  };
}
