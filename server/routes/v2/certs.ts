import type { Certs } from '../../credentials/certs.ts';
import { endpoint } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import {
  appActorOf,
  ByCertId,
  Certificate,
  downloadOf,
  OwnCertFilter,
  OwnCertUploadBody,
  presentCert,
  uploadOf,
  wholePage,
} from '../wire/credentials.ts';

/** Certificates and keys of the token's own project. */
export function ownCertRoutes({ certs, now }: { certs: Certs; now: () => Date }): RouteGroup {
  const router = routeGroup('/api/v2/certs');

  /**
   * @openapi
   * /api/v2/certs/upload:
   *   post:
   *     tags: [Certificates]
   *     summary: Upload a certificate or key
   *     description: >
   *       As a file or as text, at most 64 KB; PEM, a DER certificate, or the bare base64 of Alipay's key tool. The first of its kind
   *       becomes the default if its other half fits. Private keys never leave again. Always of the project of the token.
   */
  router.post(
    '/upload',
    endpoint(
      {
        auth: { scope: 'cert:manage' },
        accepts: ['multipart', 'json'],

        body: OwnCertUploadBody,
        returns: Certificate,
        status: 201,
        errors: ['certificate_exists', 'configuration_broken'],
      },
      async ({ body, caller, request }) =>
        presentCert(
          await certs.upload({ actor: appActorOf(caller, request), project: caller.project }, uploadOf(body)),
          now(),
        ),
    ),
  );

  /**
   * @openapi
   * /api/v2/certs/list:
   *   post:
   *     tags: [Certificates]
   *     summary: List certificates and keys
   *     description: Newest first, with the days that are left; only public facts. Always of the project of the token.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { payWay: wechat }
   */
  router.post(
    '/list',
    endpoint(
      { auth: { scope: 'cert:manage' }, body: OwnCertFilter, returns: Certificate, list: true },
      async ({ caller, body }) => {
        const rows = await certs.list(caller.project, body ?? {});
        return wholePage(rows.map((row) => presentCert(row, now())));
      },
    ),
  );

  /**
   * @openapi
   * /api/v2/certs/{id}/default:
   *   post:
   *     tags: [Certificates]
   *     summary: Make a certificate the default of its kind
   *     description: >
   *       The default signs and verifies. The other half of a pair changes with it; when none that fits was uploaded, 409. The
   *       configuration gets a new version as soon as its set of certificates is complete. Always of the project of the token.
   */
  router.post(
    '/:id/default',
    endpoint(
      {
        auth: { scope: 'cert:manage' },
        params: ByCertId,

        returns: Certificate,
        errors: ['certificate_pair_mismatch', 'certificate_unusable', 'configuration_broken'],
      },
      async ({ params, caller, request }) =>
        presentCert(
          await certs.makeDefault({ actor: appActorOf(caller, request), project: caller.project }, params.id),
          now(),
        ),
    ),
  );

  /**
   * @openapi
   * /api/v2/certs/{id}/delete:
   *   post:
   *     tags: [Certificates]
   *     summary: Delete a certificate or key
   *     description: Refused for a default and for one that orders in flight need. Always of the project of the token.
   */
  router.post(
    '/:id/delete',
    endpoint(
      {
        auth: { scope: 'cert:manage' },
        params: ByCertId,

        returns: Certificate,
        errors: ['in_use', 'certificate_unusable', 'configuration_broken'],
      },
      async ({ params, caller, request }) =>
        presentCert(
          await certs.remove({ actor: appActorOf(caller, request), project: caller.project }, params.id),
          now(),
        ),
    ),
  );

  /**
   * @openapi
   * /api/v2/certs/{id}/download:
   *   post:
   *     tags: [Certificates]
   *     summary: Download the public part
   *     description: The certificate, or the public key of a key, as a PEM file. There is no way to a private key. Always of the project of the token.
   */
  router.post(
    '/:id/download',
    endpoint({ auth: { scope: 'cert:manage' }, params: ByCertId, raw: 'stream' }, async ({ params, caller }) =>
      downloadOf(await certs.find(caller.project, params.id)),
    ),
  );
  return router;
}
