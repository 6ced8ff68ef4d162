const words = `
password passwort passw0rd p@ssword p@ssw0rd pa55word password1 password12 password123 password1234 password12345
password123456 password1234567 passwordpassword mypassword mypassword123 newpassword newpassword1 oldpassword
changeme changeme1 changeme123 changeme1234 changemenow changeit changethis changemeplease pleasechange pleasechangeme
letmein letmein1 letmein123 letmein1234 letmeinnow letmeinplease welcome welcome1 welcome123 welcome1234 welcome12345
welcometo welcomehome default defaultpassword default123456 temporary temporary123 temppassword temppass123 secret
secret123 secret1234 secretpassword supersecret supersecret1 topsecret topsecret123 verysecret mysecret mysecretpassword
admin admin1 admin12 admin123 admin1234 admin12345 admin123456 admin1234567 adminadmin adminadmin1 adminadminadmin
administrator administrator1 administrator123 adminpassword adminpass adminpass123 superadmin superadmin123 sysadmin
sysadmin123 superuser superuser123 root rootroot rootrootroot rootpassword root123456 toor user user123456 userpassword
username username123 guest guestguest guest123456 test testtest testtesttest test1234 test12345678 testpassword
testing123456 tester123456 demo demodemo demo12345678 demopassword example examplepassword sample samplepassword
qwerty qwerty1 qwerty12 qwerty123 qwerty1234 qwerty12345 qwerty123456 qwertyuiop qwertyuiop1 qwertyuiop12 qwertyuiop123
qwertyuiop[] qwertyuiopasdfghjkl asdfghjkl asdfghjkl123 asdfghjkl;' asdfasdf asdfasdfasdf asdfghjklzxcvbnm zxcvbnm
zxcvbnm123 zxcvbnmasdfghjkl qazwsx qazwsxedc qazwsxedcrfv qazxsw qazxswedc 1qaz2wsx 1qaz2wsx3edc 1qaz2wsx3edc4rfv
1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y 1q2w3e4r5t6y7u 1qazxsw23edc zaq12wsx zaq1zaq1 zaq12wsxcde3 abcdef abcdefgh abcdefghijkl
abcdefghijklm abcdefghijklmnop abc123 abc123456 abcd1234 abcd12345678 abc123abc123 abcabcabcabc a1b2c3d4 a1b2c3d4e5f6
aa123456 aa12345678 123456 1234567 12345678 123456789 1234567890 12345678910 123456789012 1234567890123 12345678901234
123456789012345 1234567890123456 123456123456 123123123123 121212121212 112233445566 111222333444 987654321 9876543210
098765432109 012345678910 0123456789012 102030405060 147258369000 159753159753 110110110110 520131452013 5201314520131
000000000000 111111111111 222222222222 333333333333 555555555555 666666666666 777777777777 888888888888 999999999999
iloveyou iloveyou1 iloveyou123 iloveyou1234 iloveyouforever iloveyousomuch loveyou princess princess123 sunshine
sunshine123 football football123 baseball baseball123 basketball monkey monkey123 dragon dragon123 master master123
shadow michael jordan superman superman123 batman batman123 starwars starwars123 whatever trustno1 trustno1trustno1
freedom freedom123 computer computer123 internet internet123 samsung samsung123 pokemon pokemon123 hello hello123
hellohello hellohellohello helloworld helloworld1 helloworld123 correcthorsebatterystaple nopassword nopassword123
thisismypassword thisispassword yourpassword blahblahblah lalalalalala woaini woaini1314 woaini520 woaini1314520
woainiwoaini payment payments payment123 paymentadmin payadmin payadmin123 alipay alipay123456 wechat wechat123456
wechatpay paypal paypal123456 merchant merchant123 company company123 summer summer2024 summer2025 summer2026 winter
winter2024 winter2025 winter2026 spring spring2025 autumn autumn2025 january february september october november december
`;

/** Passwords that are tried first by everybody; in lower case. */
export const commonPasswords: ReadonlySet<string> = new Set(words.split(/\s+/).filter(Boolean));
