"""A reader of the bills of all three channels, written from the documents (opendocs.alipay.com "账单文件说明"; pay.weixin.qq.com "申请交易账单",
"申请资金账单", "下载账单"; developer.paypal.com Transaction Search v1) with Python's standard library; `openssl` signs and verifies. It creates orders at
the simulator, pays and refunds them, fetches the bills of today and checks their form and sums against the ledger. Argument: the
simulator's address."""

import base64
import csv
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from datetime import datetime, timedelta, timezone
from decimal import Decimal

SIMULATOR = sys.argv[1]
BEIJING = timezone(timedelta(hours=8))
FOLDER = tempfile.mkdtemp()


def send(method, url, body=None, headers=None):
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def control(path, body=None):
    status, answer, _ = send("GET" if body is None else "POST", SIMULATOR + path, body, {"content-type": "application/json"})
    if status >= 300:
        sys.exit(f"{path}: {answer}")
    return json.loads(answer)


def holds(what, does, seen=None):
    if not does:
        sys.exit(f"{what}: {seen}")
    print(what)


def same(what, one, other):
    holds(what, one == other, f"{one} and not {other}")


def file_of(text):
    path = os.path.join(FOLDER, hashlib.sha1(text.encode()).hexdigest())
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def sign(text, key):
    done = subprocess.run(["openssl", "dgst", "-sha256", "-sign", file_of(key)], input=text, capture_output=True, check=True)
    return base64.b64encode(done.stdout).decode()


def is_signed(text, signature, public_key):
    path = os.path.join(FOLDER, "signature")
    with open(path, "wb") as file:
        file.write(base64.b64decode(signature))
    command = ["openssl", "dgst", "-sha256", "-verify", file_of(public_key), "-signature", path]
    return subprocess.run(command, input=text, capture_output=True).returncode == 0


def today(zone):
    now = datetime.fromisoformat(control("/sim/clock")["now"].replace("Z", "+00:00"))
    return now.astimezone(zone)


def ledger(pay_way):
    return [order for order in control(f"/sim/ledger?payWay={pay_way}")["orders"] if order["account"] == "default"]


def minor(text):
    value = Decimal(text) * 100
    if value != value.to_integral_value():
        sys.exit(f"{text} is no whole number of cents")
    return int(value)


def fee_of(amount):
    return (amount * 6 + 500) // 1000


CONFIG = control("/sim/config?account=default")

# Alipay


def alipay(method, content):
    fields, pems = CONFIG["alipay"]["fields"], CONFIG["alipay"]["pems"]
    params = {
        "app_id": fields["appId"],
        "method": method,
        "format": "JSON",
        "charset": "utf-8",
        "sign_type": "RSA2",
        "timestamp": datetime.now(BEIJING).strftime("%Y-%m-%d %H:%M:%S"),
        "version": "1.0",
        "biz_content": json.dumps(content),
    }
    text = "&".join(f"{name}={params[name]}" for name in sorted(params))
    params["sign"] = sign(text.encode(), pems["alipay_app_key"][0])
    form = urllib.parse.urlencode(params).encode()
    _, answer, _ = send("POST", f"{SIMULATOR}/alipay/gateway.do", form)
    member = method.replace(".", "_") + "_response"
    raw = answer.decode()
    begin = raw.index(":") + 1
    _, end = json.JSONDecoder().raw_decode(raw, begin)
    if not is_signed(raw[begin:end].encode(), json.loads(raw)["sign"], pems["alipay_public_key"][0]):
        sys.exit(f"{method}: not signed by Alipay")
    return json.loads(raw)[member]


def alipay_orders():
    for number, amount, refund in (("A1", "100.00", None), ("A2", "12.34", "2.34"), ("A3", "9.99", "9.99")):
        alipay("alipay.trade.precreate", {"out_trade_no": number, "total_amount": amount, "subject": "茶，一杯 ☕"})
        control("/sim/pay", {"orderNo": number})
        if refund:
            alipay("alipay.trade.refund", {"out_trade_no": number, "refund_amount": refund, "out_request_no": f"{number}R"})


def alipay_file(kind, day):
    reply = alipay("alipay.data.dataservice.bill.downloadurl.query", {"bill_type": kind, "bill_date": day})
    same(f"alipay {kind}", reply["code"], "10000")
    url = reply["bill_download_url"]
    holds("the address is the simulator's", url.startswith(SIMULATOR), url)
    status, body, _ = send("GET", url)
    same("downloaded", status, 200)
    return zipfile.ZipFile(io.BytesIO(body))


def csv_in(archive, info, title):
    lines = archive.read(info).decode("gb18030").split("\r\n")
    pid = CONFIG["alipay"]["fields"]["sellerId"]
    holds("the file is told by its first lines", lines[0] == title and lines[1] == f"#账号：[{pid}0156]", lines[:2])
    holds("the third line has the period", lines[2].startswith("#起始日期：[") and "   终止日期：[" in lines[2], lines[2])
    holds("the fourth begins the list", lines[3].startswith("#---") and lines[3].endswith("----"), lines[3])
    end = next(index for index, line in enumerate(lines) if index > 3 and line.startswith("#---"))
    rows = list(csv.reader(lines[4:end]))
    header, *cells = [[cell.strip(" \t") for cell in row] for row in rows]
    holds("every row has the header's columns", all(len(row) == len(header) for row in cells), cells)
    holds("the last line has the time of the export", lines[-2].startswith("#导出时间：[") and lines[-1] == "", lines[-2:])
    return [dict(zip(header, row)) for row in cells], lines[end + 1 : -2], len(header)


def read_alipay():
    alipay_orders()
    day = today(BEIJING).strftime("%Y-%m-%d")
    archive = alipay_file("trade", day)
    infos = archive.infolist()
    holds("no name says that it is UTF-8", not any(info.flag_bits & 0x800 for info in infos), infos)
    # Python decodes names without the UTF-8 flag as code page 437.
    names = [info.filename.encode("cp437").decode("gbk") for info in infos]
    prefix = f"{CONFIG['alipay']['fields']['sellerId']}0156_{day.replace('-', '')}_业务明细"
    same("the names are in GBK", names, [f"{prefix}.csv", f"{prefix}(汇总).csv"])
    rows, ends, columns = csv_in(archive, infos[0], "#支付宝业务明细查询")
    same("25 columns", columns, 25)
    paid = [row for row in rows if row["业务类型"] == "交易"]
    back = [row for row in rows if row["业务类型"] == "退款"]
    same("only payments and refunds", len(paid) + len(back), len(rows))
    gross, returned = sum(minor(row["订单金额（元）"]) for row in paid), -sum(minor(row["订单金额（元）"]) for row in back)
    known = ledger("alipay")
    same("paid as in the ledger", gross, sum(order["paid"] for order in known))
    same("refunded as in the ledger", returned, sum(order["refunded"] for order in known))
    same("the orders are those of the ledger", {row["商户订单号"] for row in paid}, {order["orderNo"] for order in known})
    same("refunds have the merchant's number", {row["退款批次号/请求号"] for row in back}, {"A2R", "A3R"})
    same("payments have none", {row["退款批次号/请求号"] for row in paid}, {""})
    for row in paid:
        same("the fee of a payment is what the merchant pays", minor(row["服务费（元）"]), -fee_of(minor(row["订单金额（元）"])))
    for row in back:
        same("the fee of a refund comes back", minor(row["服务费（元）"]), fee_of(-minor(row["订单金额（元）"])))
    same("the title is whole as far as GBK has it", {row["商品名称"] for row in rows}, {"茶，一杯 ?"})
    same("sums", ends[0], f"#交易合计：{len(paid)}笔，商家实收共{Decimal(gross) / 100:.2f}元，商家优惠共0.00元")
    same("sums of refunds", ends[1], f"#退款合计：{len(back)}笔，商家实收退款共{Decimal(-returned) / 100:.2f}元，商家优惠退款共0.00元")
    (total,), _, _ = csv_in(archive, infos[1], "#支付宝业务汇总查询")
    fees = sum(minor(row["服务费（元）"]) for row in rows)
    same("the summary has their fees", minor(total["服务费（元）"]), fees)
    same("the summary has what is left", minor(total["实收净额（元）"]), gross - returned + fees)
    archive = alipay_file("signcustomer", day)
    flows, _, _ = csv_in(archive, archive.infolist()[0], "#支付宝账务明细查询")
    moved = sum(minor(row["收入金额（+元）"]) + minor(row["支出金额（-元）"]) for row in flows)
    same("the account gained that", moved, gross - returned + fees)
    refused = alipay("alipay.data.dataservice.bill.downloadurl.query", {"bill_type": "trade", "bill_date": "2020-02-02"})
    same("a day without trades has no bill", refused["sub_code"], "isp.bill_not_exist")


# WeChat Pay


def wechat(method, url, body=None):
    fields, pems = CONFIG["wechat"]["fields"], CONFIG["wechat"]["pems"]
    url = url if url.startswith("http") else f"{SIMULATOR}/wechat{url}"
    parts = urllib.parse.urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    data = b"" if body is None else json.dumps(body).encode()
    stamp, nonce = str(int(time.time())), os.urandom(8).hex()
    text = f"{method}\n{target}\n{stamp}\n{nonce}\n".encode() + data + b"\n"
    serial = subprocess.run(
        ["openssl", "x509", "-noout", "-serial", "-in", file_of(pems["wechat_merchant_cert"][0])], capture_output=True, check=True
    ).stdout.decode().strip().split("=")[1]
    given = {
        "mchid": fields["mchid"],
        "serial_no": serial,
        "nonce_str": nonce,
        "timestamp": stamp,
        "signature": sign(text, pems["wechat_merchant_key"][0]),
    }
    scheme = ",".join(f'{name}="{value}"' for name, value in given.items())
    headers = {"authorization": f"WECHATPAY2-SHA256-RSA2048 {scheme}", "accept": "application/json", "user-agent": "oracle"}
    if data:
        headers["content-type"] = "application/json"
    return send(method, url, data or None, headers)


def wechat_json(method, path, body=None):
    status, answer, _ = wechat(method, path, body)
    if status >= 300:
        sys.exit(f"{path}: {status} {answer}")
    return json.loads(answer or b"{}")


def wechat_orders():
    fields = CONFIG["wechat"]["fields"]
    for number, total, refund in (("WX0001", 129902, None), ("WX0002", 1234, 234), ("WX0003", 999, 999)):
        order = {"appid": fields["appId"], "mchid": fields["mchid"], "description": "茶, 一杯", "out_trade_no": number}
        order |= {"notify_url": "http://127.0.0.1:9/notify", "amount": {"total": total, "currency": "CNY"}}
        wechat_json("POST", "/v3/pay/transactions/native", order)
        control("/sim/pay", {"orderNo": number})
        if refund:
            amount = {"refund": refund, "total": total, "currency": "CNY"}
            body = {"out_trade_no": number, "out_refund_no": f"{number}R", "amount": amount}
            wechat_json("POST", "/v3/refund/domestic/refunds", body)
            control("/sim/refund-state", {"orderNo": number, "refundNo": f"{number}R", "state": "succeeded"})


def wechat_file(path):
    told = wechat_json("GET", path)
    same("hashed by SHA1", told["hash_type"], "SHA1")
    status, _, _ = send("GET", told["download_url"])
    same("a file needs a signature", status, 401)
    status, body, headers = wechat("GET", told["download_url"])
    holds("the file has no signature of its own", status == 200 and headers.get("wechatpay-signature") is None, status)
    plain = gzip.decompress(body) if "tar_type=GZIP" in path else body
    same("the hash is that of the plain file", hashlib.sha1(plain).hexdigest(), told["hash_value"])
    holds("UTF-8 with its mark", plain.startswith(b"\xef\xbb\xbf"), plain[:20])
    lines = plain.decode("utf-8-sig").split("\r\n")
    same("ends with its last line", lines.pop(), "")
    *rows, summary_header, summary = lines[1:]
    cells = lambda line: line[1:].split(",`")
    holds("every cell begins with a backtick", all(line.startswith("`") for line in [*rows, summary]), lines)
    header = lines[0].split(",")
    table = [dict(zip(header, cells(line))) for line in rows]
    holds("every row has the header's columns", all(len(cells(line)) == len(header) for line in rows), rows)
    return table, dict(zip(summary_header.split(","), cells(summary))), len(header)


def read_wechat():
    wechat_orders()
    day = today(BEIJING).strftime("%Y-%m-%d")
    rows, sums, columns = wechat_file(f"/v3/bill/tradebill?bill_date={day}&bill_type=ALL&tar_type=GZIP")
    same("27 columns", columns, 27)
    paid = [row for row in rows if row["交易状态"] == "SUCCESS"]
    back = [row for row in rows if row["交易状态"] == "REFUND"]
    known = ledger("wechat")
    gross, returned = sum(minor(row["订单金额"]) for row in paid), sum(minor(row["申请退款金额"]) for row in back)
    same("paid as in the ledger", gross, sum(order["paid"] for order in known))
    same("refunded as in the ledger", returned, sum(order["refunded"] for order in known))
    same("the merchant is named", {row["商户号"] for row in rows}, {CONFIG["wechat"]["fields"]["mchid"]})
    same("refunds have both numbers", {row["商户退款单号"] for row in back}, {"WX0002R", "WX0003R"})
    holds("the channel's, too", all(row["微信退款单号"].startswith("503") for row in back), back)
    same("payments have none", {(row["微信退款单号"], row["商户退款单号"]) for row in paid}, {("0", "0")})
    for row in paid:
        same("a fee is rounded to the fen", minor(row["手续费"]), fee_of(minor(row["订单金额"])))
    for row in back:
        same("the fee of a refund comes back", minor(row["手续费"]), -fee_of(minor(row["申请退款金额"])))
    same("7.79 of 1299.02", {row["手续费"] for row in paid if row["商户订单号"] == "WX0001"}, {"7.79000"})
    same("the rate", {row["费率"] for row in rows}, {"0.60%"})
    same("a comma stays in its cell", {row["商品名称"] for row in rows}, {"茶, 一杯"})
    fees = sum(minor(row["手续费"]) for row in rows)
    summed = [sums["总交易单数"], *[minor(sums[name]) for name in ("应结订单总金额", "退款总金额", "手续费总金额", "订单总金额", "申请退款总金额")]]
    same("sums", summed, [str(len(rows)), gross, returned, fees, gross, returned])
    for kind, some, count in (("SUCCESS", paid, 20), ("REFUND", back, 29)):
        part, _, columns = wechat_file(f"/v3/bill/tradebill?bill_date={day}&bill_type={kind}")
        same(f"{kind}", (len(part), columns), (len(some), count))
    flows, sums, columns = wechat_file(f"/v3/bill/fundflowbill?bill_date={day}&account_type=BASIC&tar_type=GZIP")
    same("11 columns", columns, 11)
    moved = sum(minor(row["收支金额(元)"]) * (1 if row["收支类型"] == "收入" else -1) for row in flows)
    same("the account gained that", moved, gross - returned - fees)
    same("and its sums say so", minor(sums["收入金额"]) - minor(sums["支出金额"]), moved)
    status, answer, _ = wechat("GET", "/v3/bill/tradebill?bill_date=" + (today(BEIJING) - timedelta(days=40)).strftime("%Y-%m-%d"))
    same("a day without trades has no bill", (status, json.loads(answer)["code"]), (400, "NO_STATEMENT_EXIST"))


# PayPal


def paypal(method, path, body=None, **headers):
    headers = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    status, answer, _ = send(method, f"{SIMULATOR}/paypal{path}", body, headers)
    return status, json.loads(answer or b"{}")


def read_paypal():
    fields = CONFIG["paypal"]["fields"]
    secret = base64.b64encode(f"{fields['clientId']}:{fields['clientSecret']}".encode()).decode()
    form = {"authorization": f"Basic {secret}"}
    _, answer, _ = send("POST", f"{SIMULATOR}/paypal/v1/oauth2/token", b"grant_type=client_credentials", form)
    token = f"Bearer {json.loads(answer)['access_token']}"
    captures, refunds = {}, {}
    for number, value, refund in (("P1", "100.00", None), ("P2", "12.34", "2.34"), ("P3", "9.99", "9.99")):
        unit = {"amount": {"currency_code": "USD", "value": value}, "custom_id": number, "invoice_id": number}
        order = {"intent": "CAPTURE", "purchase_units": [unit]}
        _, made = paypal("POST", "/v2/checkout/orders", order, authorization=token, PayPal_Request_Id=number)
        control("/sim/approve", {"orderNo": number})
        path = f"/v2/checkout/orders/{made['id']}/capture"
        _, taken = paypal("POST", path, {}, authorization=token, PayPal_Request_Id=f"{number}C", Prefer="return=representation")
        capture = taken["purchase_units"][0]["payments"]["captures"][0]
        captures[capture["id"]] = capture
        if refund:
            body = {"amount": {"currency_code": "USD", "value": refund}, "invoice_id": f"{number}R"}
            path = f"/v2/payments/captures/{capture['id']}/refund"
            _, given = paypal("POST", path, body, authorization=token, PayPal_Request_Id=f"{number}R")
            refunds[given["id"]] = (capture["id"], refund, f"{number}R")
    now = today(timezone.utc)
    window = lambda days, **more: urllib.parse.urlencode(
        {
            "start_date": (now - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "end_date": (now + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "fields": "transaction_info",
            **more,
        }
    )
    rows, page, pages = [], 0, 1
    while page < pages:
        page += 1
        status, body = paypal("GET", f"/v1/reporting/transactions?{window(1, page_size=2, page=page)}", authorization=token)
        same(f"page {page}", (status, body["page"], body["total_items"]), (200, page, len(captures) + len(refunds)))
        pages = body["total_pages"]
        rows += [detail["transaction_info"] for detail in body["transaction_details"]]
    same("the account is named", body["account_number"], fields["merchantId"])
    found = {row["transaction_id"]: row for row in rows}
    same("all captures and refunds", set(found), set(captures) | set(refunds))
    for number, capture in captures.items():
        row, parts = found[number], capture["seller_receivable_breakdown"]
        same("a payment", (row["transaction_event_code"], row["transaction_amount"]), ("T0006", parts["gross_amount"]))
        same("its fee is that of the capture", row["fee_amount"]["value"], "-" + parts["paypal_fee"]["value"])
        same("its numbers", (row["invoice_id"], row["custom_field"]), (capture["invoice_id"], capture["custom_id"]))
        whole = any(one == number and value == capture["amount"]["value"] for one, value, _ in refunds.values())
        same("its status", row["transaction_status"], "V" if whole else "S")
    for number, (capture, value, refund_no) in refunds.items():
        row = found[number]
        same("a refund", (row["transaction_event_code"], row["transaction_amount"]["value"]), ("T1107", f"-{value}"))
        same("of its payment", (row["paypal_reference_id"], row["paypal_reference_id_type"]), (capture, "TXN"))
        same("with its number", row["invoice_id"], refund_no)
    status, body = paypal("GET", f"/v1/reporting/transactions?{window(32)}", authorization=token)
    same("31 days at most", (status, body["name"]), (400, "INVALID_REQUEST"))
    control("/sim/bills/conditions", {"payWay": "paypal", "condition": "filler", "rows": 30000})
    status, body = paypal("GET", f"/v1/reporting/transactions?{window(2)}", authorization=token)
    same("10,000 results at most", (status, body["name"], body["maximum_items"]), (400, "RESULTSET_TOO_LARGE", 10000))


read_alipay()
read_wechat()
read_paypal()
print("all three")
