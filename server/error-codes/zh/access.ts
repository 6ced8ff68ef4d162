import type { accessCodes } from '../access.ts';
import type { ErrorWords } from '../error-codes.ts';

/** The words of these codes in Chinese. */
export const accessWords = {
  beyond_projects: {
    title: '超出账号的项目范围',
    meaning: '该账号仅限于部分项目，而请求涉及整个服务，或涉及与其他项目共用的渠道账号。',
    remedy: '请不受项目限制的管理员操作。',
  },
  csrf_failed: {
    title: 'CSRF 校验失败',
    meaning: '使用了 Cookie 会话，但缺少匹配的 X-CSRF-Token，或请求来自其他站点，或 Cookie 重复。',
    remedy: '将 csrf_token Cookie（HTTPS 下为 __Host-csrf_token）的值放入 X-CSRF-Token 请求头，或改用 Bearer 令牌。',
  },
  insufficient_scope: {
    title: '权限范围不足',
    meaning: '令牌没有该操作所需的 scope。',
    remedy: '请管理员授予 WWW-Authenticate 中指明的 scope，然后重新获取令牌。',
  },
  invalid_client: {
    title: '应用凭证无效',
    meaning: '应用不存在、已停用，或密钥错误。',
    remedy: '检查 client_id 和 client_secret。',
  },
  invalid_scope: {
    title: '未授予该权限范围',
    meaning: '应用没有所请求的 scope。',
    remedy: '不传 scope，或请管理员授予。',
  },
  ip_not_allowed: {
    title: 'IP 地址不在白名单内',
    meaning: '请求的 IP 地址不在白名单内。',
    remedy: '从白名单内的地址调用，或修改白名单。',
  },
  last_admin: {
    title: '最后一名管理员',
    meaning: '不能停用、降级、限制项目范围或删除最后一名不受项目限制的启用管理员。',
    remedy: '先创建或启用另一名管理员。',
  },
  limit_exceeded: {
    title: '超出应用限额',
    meaning:
      '管理员为该应用设置了下单或退款限额，本次请求超出了限额。`limit` 指明是哪一项（`perOrder`、`perDay`、`perMonth`、`refundPerDay`、`ordersPerHour`，币种不允许时为 `currency`），`allowed` 是限额，`left` 是剩余额度（以 `currency` 的主单位计；`ordersPerHour` 为订单数），`resetsAt` 是重新计数的时间。',
    remedy: '请求金额不超过 `left`，或等到 `resetsAt`，或请管理员调整限额。',
  },
  login_busy: {
    title: '同时登录过多',
    meaning: '该实例正在同时处理过多的登录请求。',
    remedy: '按 Retry-After 等待后，原样重试请求。',
  },
  login_failed: {
    title: '登录失败',
    meaning: '用户名、密码或验证码错误，验证码已被使用，或账号已停用。',
    remedy: '逐一检查；尝试次数过多时，按 Retry-After 等待。',
  },
  not_bootstrapped: {
    title: '尚无管理员',
    meaning: '创建首名管理员之前，任何人都无法登录。',
    remedy: '运行 payctl bootstrap admin（使用内嵌数据库时，须先停止服务，之后再启动）。',
  },
  password_confirmation_required: {
    title: '需要确认密码',
    meaning:
      '修改管理员、双因素认证、渠道配置、证书或受信任的应用，发放或扩大应用的凭据与权限，一次增加的虚拟币超过 Approval.CoinsAbove，审批退款，或退款、认账金额超过 Approval.RefundAbove 时，要求本会话在最近五分钟内输入过密码；启用了双因素认证的账号还须输入过验证码。',
    remedy:
      '将密码（启用了双因素认证时连同验证码）发送到 POST /api/v1/me/confirm，或重新登录，然后用响应中的新令牌或 Cookie 重试请求。',
  },
  password_weak: {
    title: '密码强度不足',
    meaning: '密码短于 12 个字符、过于常见（包括用数字或符号代替字母的写法）、由用户名等构成，或是连续、重复的字符。',
    remedy: '换一个更强的密码。',
  },
  password_wrong: {
    title: '密码错误',
    meaning: '当前密码错误。',
    remedy: '发送正确的当前密码。',
  },
  role_insufficient: {
    title: '角色权限不足',
    meaning: 'viewer 只能读取。operator 处理资金：订单、退款、异常、争议和对账单。其他操作需要 admin 角色。',
    remedy: '请具有 detail 中所示角色的管理员操作。',
  },
  second_factor_enrolment_required: {
    title: '须启用双因素认证',
    meaning: '该服务要求所有管理员启用双因素认证，而该账号尚未启用。',
    remedy: '启用双因素认证：POST /api/v1/me/second-factor/start，或 payctl second-factor enable。',
  },
  second_factor_not_enabled: {
    title: '未启用双因素认证',
    meaning: '该账号没有启用双因素认证。',
    remedy: '无须处理，或先启用。',
  },
  second_factor_not_started: {
    title: '没有待确认的启用流程',
    meaning: '该账号没有等待首个验证码的启用流程，或等待已超过十分钟。',
    remedy: '重新开始启用。',
  },
  second_factor_own: {
    title: '自己的双因素认证',
    meaning: '自己的双因素认证须凭验证码移除；只能重置他人的。',
    remedy: 'POST /api/v1/me/second-factor/remove，或 payctl second-factor remove。',
  },
  second_factor_required: {
    title: '需要验证码',
    meaning: '该账号启用了双因素认证，而登录请求没有携带验证码。',
    remedy: '在同一请求中加入 `code`：身份验证器的六位数字，或一个恢复码。',
  },
  second_factor_unreadable: {
    title: '双因素认证无法读取',
    meaning: '双因素认证的密钥无法解密：该副本的主密钥与加密时的不同。',
    remedy:
      '检查 Security.MasterKey。期间可以使用恢复码；payctl admin reset-second-factor --offline 可移除双因素认证。',
  },
  unauthenticated: {
    title: '未认证',
    meaning: '凭证缺失、格式错误、已过期或已被吊销。',
    remedy: '重新获取令牌，并以 Authorization: Bearer 发送。',
  },
  unauthorized_client: {
    title: '应用已停用',
    meaning: '该应用不允许获取令牌。',
    remedy: '启用该应用。',
  },
  unsupported_grant_type: {
    title: '不支持的授权类型',
    meaning: '仅支持 client_credentials。',
    remedy: '发送 grant_type=client_credentials。',
  },
  username_taken: {
    title: '用户名已被占用',
    meaning: '已有管理员使用该用户名。',
    remedy: '换一个用户名。',
  },
} as const satisfies Readonly<Record<keyof typeof accessCodes, ErrorWords>>;
