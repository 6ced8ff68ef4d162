import type { Admin } from './admin.ts';
import type { Service } from './service.ts';

/** The project `default` asks WeChat for payment codes of agents, for the resource `weather`. */
export async function takeWeixinAgents(service: Service, admin: Admin): Promise<void> {
  const made = await service.sim('/sim/agent/developer', { account: 'default', skills: ['weather-report'] });
  const { developerId, keyId, privateKey } = made as unknown as Record<string, string>;
  const skills = { weather: { id: 'weather-report', version: '1.0.0' } };
  const settings = { developerId, keyId, privateKey, skills };
  const { status, body } = await admin.call('PUT', '/api/v1/skillpay/agent-pay?project=default', settings);
  if (status !== 200) throw new Error(JSON.stringify(body));
}
