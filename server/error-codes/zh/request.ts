import type { ErrorWords } from '../error-codes.ts';
import type { requestCodes } from '../request.ts';

/** The words of these codes in Chinese. */
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
    meaning: '数据库在提交时失败，或请求只完成了一部分；不确定变更是否已全部生效。',
    remedy: '先查询变更是否已生效。带 Idempotency-Key 或商户单号的请求可以原样重试。',
  },
  changed_meanwhile: {
    title: '并发修改冲突',
    meaning: '该资源同时被其他请求修改，本次请求未生效。',
    remedy: '重新读取该资源，再次提交修改。',
  },
  code_taken: {
    title: '编码已被占用',
    meaning: '已存在相同编码的同类资源。',
    remedy: '更换编码，或修改已有的资源。',
  },
  database_busy: {
    title: '数据库繁忙',
    meaning: '所需的行被锁定，或数据库响应超时；未发生任何变更。',
    remedy: '按 Retry-After 等待后，原样重试请求。',
  },
  database_full: {
    title: '数据库磁盘已满',
    meaning: '数据库磁盘已满，未发生任何变更；读取不受影响。',
    remedy: '按 Retry-After 等待后，原样重试请求；运维人员须清理或扩容磁盘。',
  },
  database_unavailable: {
    title: '数据库不可用',
    meaning: '无法连接数据库，未发生任何变更。',
    remedy: '按 Retry-After 等待后，原样重试请求。',
  },
  idempotency_conflict: {
    title: '幂等键被重复使用',
    meaning: '该 Idempotency-Key 已用于另一个内容不同的请求。',
    remedy: '新的请求使用新的幂等键。',
  },
  idempotency_in_progress: {
    title: '请求处理中',
    meaning: '使用该 Idempotency-Key 的请求仍在处理。',
    remedy: '按 Retry-After 等待后，原样重试请求。',
  },
  in_use: {
    title: '正在使用',
    meaning: '有其他资源引用它，因此不能删除。',
    remedy: '将其停用，或先删除引用它的资源。',
  },
  internal_error: {
    title: '服务内部错误',
    meaning: '发生了意外错误；可在服务日志中按 requestId 查到详情。',
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
    meaning: '该路径不支持此方法，`Allow` 中列出了支持的方法。',
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
    remedy: '按 Retry-After 等待后重试。',
  },
  request_timeout: {
    title: '请求发送过慢',
    meaning: '15 秒内未收到完整的请求，或同一地址有过多缓慢的请求。',
    remedy: '一次性发送完整的请求。',
  },
  shutting_down: {
    title: '实例即将停止',
    meaning: '该副本即将停止，但仍会响应请求。',
    remedy: '将新的请求发往其他副本。',
  },
} as const satisfies Readonly<Record<keyof typeof requestCodes, ErrorWords>>;
