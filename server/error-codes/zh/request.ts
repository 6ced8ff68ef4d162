// The Chinese texts of the error codes in `../request.ts`.
import type { ErrorWords } from '../error-codes.ts';
import type { accessCodes, requestCodes } from '../request.ts';

export const requestWords = {
  body_incomplete: {
    title: '请求体不完整',
    meaning: '连接在收到完整的请求体之前就断开了。',
    remedy: '重新发送请求。',
  },
  body_malformed: {
    title: '请求体格式错误',
    meaning: '请求体不是合法的 UTF-8 编码的 JSON、表单或 multipart 数据。',
    remedy: '修正请求体。',
  },
  body_too_deep: {
    title: '请求体嵌套过深',
    meaning: 'JSON 嵌套超过 20 层。',
    remedy: '减少嵌套层级后再发送。',
  },
  body_too_large: {
    title: '请求体过大',
    meaning: '请求体或其中的文件超过上限：JSON 100 KB；文件 64 KB（争议举证材料为 10 MB）；渠道异步通知 256 KB。',
    remedy: '减小请求体。',
  },
  change_unknown: {
    title: '变更结果未知',
    meaning: '数据库在提交时失败，或在请求部分完成之后失败；变更是否已全部生效未知。',
    remedy: '先查询变更是否已生效。带 Idempotency-Key、merchantOrderNo 或 merchantRefundNo 的请求可以原样重试。',
  },
  changed_meanwhile: {
    title: '并发修改冲突',
    meaning: '该资源同时被其他请求修改，本次请求未生效。',
    remedy: '重新读取该资源，再次提交修改。',
  },
  code_taken: {
    title: '编码已被占用',
    meaning: '已有同类对象（项目、商品或虚拟币）使用该编码。',
    remedy: '更换编码，或修改已有的对象。',
  },
  database_busy: {
    title: '数据库繁忙',
    meaning: '所需的行被锁定，或数据库响应超时；未发生任何变更。',
    remedy: '按响应头 Retry-After 等待后，原样重试请求。',
  },
  database_full: {
    title: '数据库磁盘已满',
    meaning: '数据库磁盘已满，未发生任何变更；读取不受影响。',
    remedy: '按响应头 Retry-After 等待后，原样重试请求。运维人员须释放磁盘空间。',
  },
  database_unavailable: {
    title: '数据库不可用',
    meaning: '无法连接数据库，未发生任何变更。',
    remedy: '按响应头 Retry-After 等待后，原样重试请求。',
  },
  idempotency_conflict: {
    title: '幂等键被重复使用',
    meaning: '该 Idempotency-Key 已用于另一个内容不同的请求。',
    remedy: '新的请求使用新的幂等键。',
  },
  idempotency_in_progress: {
    title: '请求处理中',
    meaning: '使用该 Idempotency-Key 的请求仍在处理。',
    remedy: '按响应头 Retry-After 等待后，原样重试请求。',
  },
  in_use: {
    title: '正在使用',
    meaning: '有其他资源引用该资源，因此不能删除。',
    remedy: '停用该资源，或先删除引用它的资源。',
  },
  internal_error: {
    title: '服务内部错误',
    meaning: '发生了意外错误；可在服务日志中按响应的 `requestId` 查到详情。',
    remedy: '重试之前，先查询订单或退款的状态。',
  },
  invalid_request: {
    title: '请求参数无效',
    meaning: '路径、查询参数、请求头或请求体中有无效的值，`errors` 中逐一列出。',
    remedy: '修正 `errors` 中列出的值。',
  },
  media_type_unsupported: {
    title: '不支持的媒体类型',
    meaning: '不支持该请求体的 Content-Type、字符集或 Content-Encoding。',
    remedy: '以 application/json、UTF-8、不压缩的方式发送 JSON。',
  },
  method_not_allowed: {
    title: '不支持的请求方法',
    meaning: '该路径不支持此方法，响应头 Allow 中列出了支持的方法。',
    remedy: '使用 Allow 中的方法。',
  },
  not_found: {
    title: '资源不存在',
    meaning: '该资源不存在，或不属于当前调用方。',
    remedy: '检查路径和标识。',
  },
  rate_limited: {
    title: '请求过于频繁',
    meaning: '超过了频率限制。',
    remedy: '按响应头 Retry-After 等待后，重试请求。',
  },
  request_timeout: {
    title: '请求发送过慢',
    meaning: '15 秒内未收到完整的请求，或同一地址同时有过多发送缓慢的请求。',
    remedy: '一次性发送完整的请求。',
  },
  shutting_down: {
    title: '副本即将停止',
    meaning: '该副本即将停止，但仍会响应请求。',
    remedy: '将新的请求发往其他副本。',
  },
} as const satisfies Readonly<Record<keyof typeof requestCodes, ErrorWords>>;

export const accessWords = {
  beyond_projects: {
    title: '超出账号的项目范围',
    meaning: '该账号仅限于部分项目，而请求涉及整个服务，或涉及与其他项目共用的渠道账号。',
    remedy: '请不受项目限制的管理员操作。',
  },
  csrf_failed: {
    title: 'CSRF 校验失败',
    meaning: '请求使用了会话 Cookie，但 X-CSRF-Token 请求头缺失或不匹配，或请求来自其他站点，或 Cookie 重复。',
    remedy: '将 csrf_token Cookie（HTTPS 下为 __Host-csrf_token）的值放入 X-CSRF-Token 请求头，或改用 Bearer 令牌。',
  },
  insufficient_scope: {
    title: '权限范围不足',
    meaning: '令牌没有该操作所需的 scope。',
    remedy: '响应头 WWW-Authenticate 指明缺少的 scope。请管理员为应用授予该 scope，然后重新获取令牌。',
  },
  invalid_client: {
    title: '应用凭证无效',
    meaning: '应用不存在、已停用，或密钥错误。',
    remedy: '检查 client_id 和 client_secret。',
  },
  invalid_scope: {
    title: '未授予该权限范围',
    meaning: '应用没有所请求的 scope。',
    remedy: '不传 `scope`，或请管理员授予该 scope。',
  },
  ip_not_allowed: {
    title: 'IP 地址不在白名单内',
    meaning: '请求的 IP 地址不在白名单内。',
    remedy: '从白名单内的地址调用，或修改白名单。',
  },
  last_admin: {
    title: '最后一名管理员',
    meaning: '至少须有一名启用且不受项目限制的管理员。不能停用、降级、限制项目范围或删除最后一名。',
    remedy: '先创建或启用另一名不受项目限制的管理员。',
  },
  limit_exceeded: {
    title: '超出应用限额',
    meaning:
      '管理员为该应用设置了下单和退款限额，本次请求超出了其中一项。`limit` 指明是哪一项：`perOrder`、`perDay`、`perMonth`、`refundPerDay`、`ordersPerHour`；币种不允许时为 `currency`。`allowed` 是限额，`left` 是剩余额度，均以 `currency` 的主单位计（`ordersPerHour` 为订单数）。`resetsAt` 是重新计数的时间。',
    remedy: '请求金额不超过 `left`，或等到 `resetsAt`，或请管理员调整限额。',
  },
  login_busy: {
    title: '同时登录过多',
    meaning: '该副本正在同时处理过多的登录请求。',
    remedy: '按响应头 Retry-After 等待后，原样重试请求。',
  },
  login_failed: {
    title: '登录失败',
    meaning: '用户名、密码或双因素验证码错误，验证码已被使用，或账号已停用。',
    remedy: '检查用户名、密码和双因素验证码；尝试次数过多时，按响应头 Retry-After 等待。',
  },
  not_bootstrapped: {
    title: '尚无管理员',
    meaning: '创建首名管理员之前，无法登录。',
    remedy: '用 payctl bootstrap admin 创建首名管理员。使用内嵌数据库时，须先停止服务，之后再启动。',
  },
  password_confirmation_required: {
    title: '需要确认密码',
    meaning:
      '该操作要求本会话在最近五分钟内输入过密码；启用了双因素认证的账号还须输入过验证码。适用于：修改管理员、双因素认证、渠道配置、证书或受信任的应用，发放应用的凭据或扩大应用的权限，一次增加的虚拟币超过 Approval.CoinsAbove，审批退款、争议或异常，退款金额超过 Approval.RefundAbove，以及接受金额超过该值的争议或款项。',
    remedy:
      '将密码（启用了双因素认证时连同验证码）发送到 POST /api/v1/me/confirm，或重新登录，然后用响应中的新令牌或 Cookie 重试请求。',
  },
  password_weak: {
    title: '密码强度不足',
    meaning:
      '密码短于 12 个字符、超过 1024 字节，或是常见密码；或主要由用户名、payment 和 admin 之类的词，或 abcd、aaaa 之类连续或重复的字符构成。用数字或符号代替字母，也不能使这样的密码通过。',
    remedy: '换一个更强的密码。',
  },
  password_wrong: {
    title: '密码错误',
    meaning: '当前密码错误。',
    remedy: '发送正确的当前密码。',
  },
  role_insufficient: {
    title: '角色权限不足',
    meaning:
      '账号的角色不允许该操作。viewer 只能读取。operator 还可处理资金：订单、退款、异常、争议和对账单。其他操作需要 admin 角色。',
    remedy: '请具有 `detail` 中所示角色的管理员操作。',
  },
  second_factor_enrolment_required: {
    title: '须启用双因素认证',
    meaning: '该服务要求所有管理员启用双因素认证，而该账号尚未启用。',
    remedy: '启用双因素认证：POST /api/v1/me/second-factor/start，或 payctl second-factor enable。',
  },
  second_factor_not_enabled: {
    title: '未启用双因素认证',
    meaning: '该账号没有启用双因素认证。',
    remedy: '如果该账号不应启用双因素认证，则无须处理；否则先启用。',
  },
  second_factor_not_started: {
    title: '没有待确认的启用流程',
    meaning: '该账号没有进行中的双因素认证启用流程，或该流程已开始超过十分钟。',
    remedy: '重新开始启用。',
  },
  second_factor_own: {
    title: '自己的双因素认证',
    meaning: '管理员只能重置其他账号的双因素认证。移除自己的双因素认证，须使用它的验证码。',
    remedy: '使用 POST /api/v1/me/second-factor/remove，或 payctl second-factor remove。',
  },
  second_factor_required: {
    title: '需要验证码',
    meaning: '该账号启用了双因素认证，而登录请求没有携带验证码。',
    remedy: '在同一请求中加入 `code`：身份验证器的六位数字，或一个恢复码。',
  },
  second_factor_unreadable: {
    title: '双因素认证无法读取',
    meaning: '双因素认证的密钥无法解密：该副本的主密钥与加密时使用的主密钥不同。',
    remedy:
      '检查 Security.MasterKey。修正之前，可以使用恢复码，或用 payctl admin reset-second-factor --offline 移除双因素认证。',
  },
  unauthenticated: {
    title: '未认证',
    meaning: '凭证缺失、格式错误、已过期或已被吊销。',
    remedy: '重新获取令牌，并以 Authorization: Bearer 发送。',
  },
  unauthorized_client: {
    title: '该地址不允许使用此应用',
    meaning: '应用凭证正确，但不允许从请求的 IP 地址使用该应用。',
    remedy: '从允许的地址调用，或请管理员修改该应用的允许地址。',
  },
  unsupported_grant_type: {
    title: '不支持的授权类型',
    meaning: '令牌接口仅支持 client_credentials 授权类型。',
    remedy: '发送 grant_type=client_credentials。',
  },
  username_taken: {
    title: '用户名已被占用',
    meaning: '已有管理员使用该用户名。',
    remedy: '换一个用户名。',
  },
} as const satisfies Readonly<Record<keyof typeof accessCodes, ErrorWords>>;
