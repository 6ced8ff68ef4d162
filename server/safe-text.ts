import { z } from 'zod';

const controls = /[\p{Cc}--[\t\n\r]]/v;

/** Text of `min` to `max` characters (code points, not bytes or UTF-16 units) without control characters. */
export function SafeText(min: number, max: number): z.ZodString {
  return z
    .string()
    .max(max * 2, `must have at most ${max} characters`)
    .refine((text) => within(text, min, max), `must have ${min} to ${max} characters`)
    .refine((text) => !controls.test(text), 'must not contain control characters')
    .meta({ minLength: min, maxLength: max });
}

function within(text: string, min: number, max: number): boolean {
  if (text.length > max) return [...text].length <= max;
  return text.length >= min && (text.length >= 2 * min || [...text].length >= min);
}
