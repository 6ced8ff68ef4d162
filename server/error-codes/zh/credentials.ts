import type { credentialsCodes } from '../credentials.ts';
import type { ErrorWords } from '../error-codes.ts';

/** The words of these codes in Chinese. */
export const credentialsWords = {
  certificate_exists: {
    title: '证书已存在',
    meaning: '相同的证书或密钥此前已上传，`id` 是它的编号。',
    remedy: '使用已有的那一份。',
  },
  certificate_not_trusted: {
    title: '证书未受信任',
    meaning: '没有管理员信任该证书或密钥，因此不会用它验签。',
    remedy: '请管理员与渠道后台核对指纹，然后设为信任。',
  },
  certificate_pair_mismatch: {
    title: '证书与私钥不匹配',
    meaning: '将要一起使用的证书和私钥不匹配。',
    remedy: '先上传另一半，两者会一起成为默认。',
  },
  certificate_unusable: {
    title: '证书不可用',
    meaning: '使用该证书后，渠道配置将无法工作。',
    remedy: '先按提示修正。',
  },
  channel_disabled: {
    title: '渠道已停用',
    meaning: '该项目已停用此渠道；已有订单仍会继续处理。',
    remedy: '换用其他 payWay，或启用该渠道。',
  },
  channel_not_configured: {
    title: '渠道未配置',
    meaning: '该项目没有此渠道的可用配置。',
    remedy: '完善渠道配置；测试配置可以看到缺少什么。',
  },
  configuration_broken: {
    title: '配置无法解密',
    meaning: '用现有的任何主密钥都无法解密该渠道配置中保存的密钥。',
    remedy: '检查 Security.MasterKey，或重新设置该配置的密钥。',
  },
  debug_refuses_live: {
    title: 'Debug 模式拒绝正式配置',
    meaning: 'Debug 开启时，存在密钥公开的测试应用，因此拒绝正式（live）配置。',
    remedy: '设置 Debug = false。',
  },
  production_refuses_simulator: {
    title: '生产环境拒绝模拟器',
    meaning: '模拟器的订单不涉及真实资金，因此生产环境不能写入模拟器的配置。',
    remedy: '使用渠道的正式账号或沙箱，或使用预发布服务（Server.Environment）。',
  },
  staging_refuses_live: {
    title: '预发布环境拒绝正式配置',
    meaning: 'Server.Environment 为 staging，该环境不得产生真实资金往来，因此拒绝正式配置。',
    remedy: '使用渠道的沙箱或模拟器；正式配置只用于生产环境。',
  },
  trust_not_needed: {
    title: '无须信任',
    meaning: '该类证书或密钥用于签名，只有用于验签的才需要信任。',
    remedy: '直接使用即可；证书列表会显示哪些需要信任。',
  },
} as const satisfies Readonly<Record<keyof typeof credentialsCodes, ErrorWords>>;
