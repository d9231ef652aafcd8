// SPDX-License-Identifier: Apache-2.0

/// The messages of the demo's apps, in the languages of their users.
enum DemoTexts {
  struct App: Sendable {
    let bundleID: String
    let teamID: String
    let keyID: String
  }

  /// Two teams, so that there are connections with two credentials.
  static let apps = [
    App(bundleID: "com.example.shop", teamID: "DEMOTEAM01", keyID: "DEMOKEY001"),
    App(bundleID: "com.example.news", teamID: "DEMOTEAM01", keyID: "DEMOKEY001"),
    App(bundleID: "com.example.chat", teamID: "DEMOTEAM02", keyID: "DEMOKEY002"),
    App(bundleID: "com.example.ride", teamID: "DEMOTEAM02", keyID: "DEMOKEY002"),
  ]

  struct Message: Sendable {
    let locale: String
    let title: String
    let body: String
  }

  static let messages = [
    Message(locale: "en", title: "Avocado bacon burger", body: "On sale until eight tonight"),
    Message(locale: "en", title: "Your driver is here", body: "Look for a blue van at the door"),
    Message(
      locale: "de", title: "Deine Bestellung ist unterwegs", body: "Ankunft in etwa 20 Minuten"),
    Message(locale: "fr", title: "Nouveau message", body: "« À tout à l’heure ! »"),
    Message(locale: "es", title: "Última hora", body: "El puente vuelve a abrir mañana"),
    Message(locale: "pt", title: "Seu código", body: "Use 482 913 para entrar"),
    Message(locale: "ja", title: "新着メッセージ", body: "今夜の会場が変わりました"),
    Message(locale: "ko", title: "배송 완료", body: "문 앞에 두었습니다"),
    Message(locale: "hi", title: "आपकी सवारी", body: "चालक दो मिनट में पहुँचेगा"),
    Message(locale: "ar", title: "رسالة جديدة", body: "نلتقي في السادسة 🙂"),
  ]
}
