import type { Certs } from '../credentials/certs.ts';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import {
  actingIn,
  CONFIRMED_WHERE_LIVE,
  forAdministrators,
  forApplications,
  NoQuery,
  projectOf,
} from './schemas/audience.ts';
import {
  ByCertId,
  CertFilter,
  Certificate,
  CertUploadBody,
  downloadOf,
  MaybeInProject,
  presentCert,
  uploadOf,
  wholePage,
} from './schemas/credentials.ts';
import {
  CHOOSE_CERT_ERRORS,
  DELETE_CERT_ERRORS,
  DISTRUST_CERT_ERRORS,
  TRUST_CERT_ERRORS,
  UPLOAD_CERT_ERRORS,
} from './schemas/errors.ts';

const PEM = { 'application/x-pem-file': 'text' } as const;

interface CertPorts {
  certs: Certs;
  now: () => Date;
}

const anyProject = {
  ...forAdministrators('/api/v1/certs'),
  write: CONFIRMED_WHERE_LIVE,
  readOne: { admin: 'viewer', projectScope: 'cert' },
  writeOne: { admin: 'admin', projectScope: 'cert', confirmed: 'where-live' },
  queryOfOne: MaybeInProject,
} as const;
const own = forApplications('/api/v2/certs', 'cert:manage');
const ownProject = {
  ...own,
  readOne: own.read,
  writeOne: own.write,
  queryOfOne: NoQuery,
};

/** Routes for administrators: certificates and keys of every project, and which keys the service trusts. */
export function certRoutes(ports: CertPorts): RouteGroup {
  const router = buildRoutes(ports, anyProject);
  const { certs, now } = ports;
  const { writeOne, queryOfOne } = anyProject;

  /**
   * @openapi
   * /api/v1/certs/{id}/trust:
   *   post:
   *     tags: [Certificates]
   *     operationId: trustCertificate
   *     summary: Trust a certificate or key that verifies messages
   *     description: >-
   *       First compare its fingerprint with the console of the channel, because the holder of its private key can report orders as
   *       paid. The trust takes effect immediately on every instance. For 24 hours, a payment that is verified with it counts only after
   *       a query of the channel confirms the payment.
   */
  router.post(
    '/:id/trust',
    endpoint(
      { auth: writeOne, params: ByCertId, query: queryOfOne, returns: Certificate, errors: TRUST_CERT_ERRORS },
      async (input) => presentCert(await certs.trust(actingIn(input), input.params.id), now()),
    ),
  );

  /**
   * @openapi
   * /api/v1/certs/{id}/distrust:
   *   post:
   *     tags: [Certificates]
   *     operationId: distrustCertificate
   *     summary: Distrust a certificate or key that verifies messages
   *     description: >-
   *       Always possible, even while orders are in progress. After the response no instance verifies anything with it. A channel
   *       without a trusted certificate or key of this kind accepts no orders.
   */
  router.post(
    '/:id/distrust',
    endpoint(
      { auth: writeOne, params: ByCertId, query: queryOfOne, returns: Certificate, errors: DISTRUST_CERT_ERRORS },
      async (input) => presentCert(await certs.distrust(actingIn(input), input.params.id), now()),
    ),
  );
  return router;
}

/** Routes for applications: manage the certificates and keys of the project to which the access token belongs. */
export function ownCertRoutes(ports: CertPorts): RouteGroup {
  return buildRoutes(ports, ownProject);
}

function buildRoutes({ certs, now }: CertPorts, audience: typeof anyProject | typeof ownProject): RouteGroup {
  const { prefix, read, write, readOne, writeOne, query, queryOfOne } = audience;
  const router = routeGroup(prefix);

  /**
   * @openapi
   * /api/v1/certs/upload:
   *   post:
   *     tags: [Certificates]
   *     operationId: uploadCertificateOfProject
   *     summary: Upload a certificate or key
   *     description: >-
   *       A file or text of at most 64 KB: PEM (its line breaks may be missing), a DER certificate, or the bare base64 of Alipay's key
   *       tool. The first of its kind becomes the default if its certificate or key matches. Private keys cannot be downloaded. A
   *       certificate or key that verifies messages of the channel is trusted immediately, because an administrator uploads it. It is
   *       used in one mode and for one account only: those in `mode` and `account`, otherwise those of the current configuration. Before
   *       there is a configuration, it belongs to the first one.
   * /api/v2/certs/upload:
   *   post:
   *     tags: [Own certificates]
   *     operationId: uploadCertificate
   *     summary: Upload a certificate or key
   *     description: >-
   *       A file or text of at most 64 KB: PEM (its line breaks may be missing), a DER certificate, or the bare base64 of Alipay's key
   *       tool. The first of its kind becomes the default if its certificate or key matches. Private keys cannot be downloaded. A
   *       certificate or key that verifies messages of the channel is not used until an administrator trusts it. It is used in one mode
   *       and for one account only: those in `mode` and `account`, otherwise those of the current configuration. Before there is a
   *       configuration, it belongs to the first one. Applies to the project of the token.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { payWay: alipay, kind: alipay_app_key, name: shop, content: 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC…' }
   */
  router.post(
    '/upload',
    endpoint(
      {
        auth: write,
        accepts: ['multipart', 'json'],
        query,
        body: CertUploadBody,
        returns: Certificate,
        status: 201,
        errors: UPLOAD_CERT_ERRORS,
      },
      async (input) => presentCert(await certs.upload(actingIn(input), uploadOf(input.body)), now()),
    ),
  );

  /**
   * @openapi
   * /api/v1/certs/list:
   *   post:
   *     tags: [Certificates]
   *     operationId: listCertificatesOfProject
   *     summary: List certificates and keys
   *     description: Newest first, with the days until expiry. The list contains only public data.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { payWay: wechat }
   * /api/v2/certs/list:
   *   post:
   *     tags: [Own certificates]
   *     operationId: listCertificates
   *     summary: List certificates and keys
   *     description: Newest first, with the days until expiry. The list contains only public data. Applies to the project of the token.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { payWay: wechat }
   */
  router.post(
    '/list',
    endpoint({ auth: read, query, body: CertFilter, returns: Certificate, list: true }, async (input) => {
      const rows = await certs.list(projectOf(input), input.body ?? {});
      return wholePage(rows.map((row) => presentCert(row, now())));
    }),
  );

  /**
   * @openapi
   * /api/v1/certs/{id}/default:
   *   post:
   *     tags: [Certificates]
   *     operationId: makeCertificateOfProjectDefault
   *     summary: Make a certificate the default of its kind
   *     description: >-
   *       The service signs and verifies with the default. The matching certificate or key becomes the default, too; 409 if none was
   *       uploaded. The configuration gets a new version as soon as its set of certificates is complete.
   * /api/v2/certs/{id}/default:
   *   post:
   *     tags: [Own certificates]
   *     operationId: makeCertificateDefault
   *     summary: Make a certificate the default of its kind
   *     description: >-
   *       The service signs and verifies with the default. The matching certificate or key becomes the default, too; 409 if none was
   *       uploaded. The configuration gets a new version as soon as its set of certificates is complete. Applies to the project of the
   *       token.
   */
  router.post(
    '/:id/default',
    endpoint(
      { auth: writeOne, params: ByCertId, query: queryOfOne, returns: Certificate, errors: CHOOSE_CERT_ERRORS },
      async (input) => presentCert(await certs.makeDefault(actingIn(input), input.params.id), now()),
    ),
  );

  /**
   * @openapi
   * /api/v1/certs/{id}/delete:
   *   post:
   *     tags: [Certificates]
   *     operationId: deleteCertificateOfProject
   *     summary: Delete a certificate or key
   *     description: >-
   *       A certificate or key that signs cannot be deleted while it is a default or open orders still need it. A certificate or key
   *       that verifies messages can always be deleted; from then on nothing is verified with it.
   * /api/v2/certs/{id}/delete:
   *   post:
   *     tags: [Own certificates]
   *     operationId: deleteCertificate
   *     summary: Delete a certificate or key
   *     description: >-
   *       A certificate or key that signs cannot be deleted while it is a default or open orders still need it. A certificate or key
   *       that verifies messages can always be deleted; from then on nothing is verified with it. Applies to the project of the token.
   */
  router.post(
    '/:id/delete',
    endpoint(
      { auth: writeOne, params: ByCertId, query: queryOfOne, returns: Certificate, errors: DELETE_CERT_ERRORS },
      async (input) => presentCert(await certs.remove(actingIn(input), input.params.id), now()),
    ),
  );

  /**
   * @openapi
   * /api/v1/certs/{id}/download:
   *   post:
   *     tags: [Certificates]
   *     operationId: downloadCertificateOfProject
   *     summary: Download a certificate or public key
   *     description: The certificate, or the public key of a key, as a PEM file. Private keys cannot be downloaded.
   * /api/v2/certs/{id}/download:
   *   post:
   *     tags: [Own certificates]
   *     operationId: downloadCertificate
   *     summary: Download a certificate or public key
   *     description: The certificate, or the public key of a key, as a PEM file. Private keys cannot be downloaded. Applies to the project of the token.
   */
  router.post(
    '/:id/download',
    endpoint(
      { auth: readOne, params: ByCertId, query: queryOfOne, raw: 'stream', answers: { 200: PEM } },
      async (input) => downloadOf(await certs.find(projectOf(input), input.params.id)),
    ),
  );
  return router;
}
