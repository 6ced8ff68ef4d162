import { z } from 'zod';
import { UUID } from '../../uuid.ts';
import { type CursorPosition, Limit, readCursor } from './fields.ts';

const number = /^\d{1,18}$/;

/** Paging of a list whose ids are UUIDs; a cursor of another list is 400. */
export const UuidPaging = { limit: Limit, cursor: cursorOf(UUID) };

/** Paging of a list whose ids are numbers. */
export const NumberPaging = { limit: Limit, cursor: cursorOf(number) };

function cursorOf(id: RegExp) {
  return z
    .string()
    .max(256)
    .transform((text, context): CursorPosition => {
      const position = readCursor(text);
      if (position && id.test(position.id)) return position;
      context.addIssue('is not a valid cursor of this list');
      return z.NEVER;
    })
    .optional()
    .meta({ description: 'Opaque: `page.nextCursor` of the previous page.' });
}
