import { type ErrorCode, errorCodes, type ErrorWords } from '../error-codes/error-codes.ts';
import { chineseErrorWords } from '../error-codes/zh/error-words.ts';
import type { Language } from './language.ts';

/** The words of an error code in a language. */
export function errorWords(code: ErrorCode, language: Language): ErrorWords {
  return language === 'zh' ? chineseErrorWords[code] : errorCodes[code];
}
